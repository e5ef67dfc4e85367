"""The event log on a topic of Kafka. Needs aiokafka, which nothing else of the room does."""
