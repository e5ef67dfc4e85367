"""Client of the service, blocking (`Client`) or asynchronous (`AsyncClient`).

from tamis.client import Client

with Client("http://127.0.0.1:8080") as tamis:
    subscription = tamis.subscribe("price < 10")
    tamis.publish({"price": 9.5})
    for notification in subscription.notifications():
        print(notification.event)
"""

from importlib.util import find_spec

if find_spec("httpx") is None:
    raise ModuleNotFoundError("the client needs httpx: pip install 'tamis[client]'", name="httpx")

from tamis.client.answers import (
    Change,
    Content,
    Delivery,
    LiveTable,
    Notification,
    Published,
    ServiceError,
    ServiceUnreachable,
)
from tamis.client.asynchronous import AsyncClient, AsyncSubscription
from tamis.client.blocking import Client, Subscription

__all__ = [
    "AsyncClient",
    "AsyncSubscription",
    "Change",
    "Client",
    "Content",
    "Delivery",
    "LiveTable",
    "Notification",
    "Published",
    "ServiceError",
    "ServiceUnreachable",
    "Subscription",
]
