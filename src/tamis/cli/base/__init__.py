"""Shared base of commands: options, paths, terminal output and failures; everything that `--help` needs."""
