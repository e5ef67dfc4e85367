"""Files of events and subscriptions, indexes, tables and Spark, as commands use them. Loaded when work begins."""
