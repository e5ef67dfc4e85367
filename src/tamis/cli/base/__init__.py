"""Options, paths, screen and failures: all that commands need before they begin to work."""
