"""The event log on a topic of Kafka. The room needs aiokafka for this alone."""
