"""What every command needs before it begins to work, for help and mistakes: options, paths, the screen, failures."""
