"""Message selectors of JMS 2.0 (§3.8.1), as ActiveMQ, Artemis, Qpid, IBM MQ and Azure Service Bus queues have them."""

from tamis.dialects.jms.converting import convert, needed

__all__ = ["convert", "needed"]
