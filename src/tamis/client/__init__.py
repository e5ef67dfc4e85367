"""A client of the service, blocking (`Client`) or not (`AsyncClient`).

from tamis.client import Client

with Client("http://127.0.0.1:8080") as tamis:
    subscription = tamis.subscribe("price < 10")
    tamis.publish({"price": 9.5})
    for notification in subscription.notifications():
        print(notification.event)
"""

from tamis.client.answers import Delivery, Notification, Published
from tamis.client.asynchronous import AsyncClient, AsyncSubscription
from tamis.client.blocking import Client, Subscription
from tamis.client.errors import ServiceError, ServiceUnreachable

__all__ = [
    "AsyncClient",
    "AsyncSubscription",
    "Client",
    "Delivery",
    "Notification",
    "Published",
    "ServiceError",
    "ServiceUnreachable",
    "Subscription",
]
