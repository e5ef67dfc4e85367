"""Store of the service: API keys, subscriptions, notifications and all other durable state, in SQLite or PostgreSQL."""

from tamis.service.store.advertisements_and_backtests import Advertisement, Advertisements, Backtest, Backtests
from tamis.service.store.database import (
    NotFoundError,
    RevokedError,
    StoreAwayError,
    StoreError,
    StoreFailedError,
    TextError,
    TicketError,
    TooManyError,
    warn,
)
from tamis.service.store.delivery_state import DeadLetter, DeadLetters, Deliveries, DeliveryState, Progress, Reached
from tamis.service.store.importing import Imported
from tamis.service.store.joins import Content, Joined, Joins, JoinWrites, Opening, Owner, StoredRow, StoredTable
from tamis.service.store.keys import ROLES, Key, Keys, Role
from tamis.service.store.locks import StoreLock
from tamis.service.store.notifications import Notifications, Notified, Pair, StoredEvent, Wanted
from tamis.service.store.schemas import Schemas
from tamis.service.store.store import Store
from tamis.service.store.subscription import (
    FOREVER,
    UNCHANGED,
    ChangeRow,
    Dialect,
    Kind,
    NewSubscription,
    State,
    Subscription,
)
from tamis.service.store.subscriptions import Subscriptions

__all__ = [
    "FOREVER",
    "ROLES",
    "UNCHANGED",
    "Advertisement",
    "Advertisements",
    "Backtest",
    "Backtests",
    "ChangeRow",
    "Content",
    "DeadLetter",
    "DeadLetters",
    "Deliveries",
    "DeliveryState",
    "Dialect",
    "Imported",
    "JoinWrites",
    "Joined",
    "Joins",
    "Key",
    "Keys",
    "Kind",
    "NewSubscription",
    "NotFoundError",
    "Notifications",
    "Notified",
    "Opening",
    "Owner",
    "Pair",
    "Progress",
    "Reached",
    "RevokedError",
    "Role",
    "Schemas",
    "State",
    "Store",
    "StoreAwayError",
    "StoreError",
    "StoreFailedError",
    "StoreLock",
    "StoredEvent",
    "StoredRow",
    "StoredTable",
    "Subscription",
    "Subscriptions",
    "TextError",
    "TicketError",
    "TooManyError",
    "Wanted",
    "warn",
]
