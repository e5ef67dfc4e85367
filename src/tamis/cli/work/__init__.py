"""What commands work with: files of events and subscriptions, indexes, tables, Spark. Loaded when work begins."""
