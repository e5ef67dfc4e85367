"""The event that the tests of CESQL and of its filters ask about."""

SOLD = {
    "specversion": "1.0",
    "id": "42",
    "source": "/shop/3",
    "type": "com.shop.sold",
    "subject": "oak desk",
    "hops": 3,
    "urgent": True,
}
