"""Input and output of commands: event and subscription files, indexes, tables, Spark. Loaded when work begins."""
