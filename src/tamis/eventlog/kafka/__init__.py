"""Event log on a Kafka topic. Only this folder of the room needs aiokafka."""
