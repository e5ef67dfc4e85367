"""The names and settings that both ends of a gRPC connection share."""

from __future__ import annotations

from typing import Final

SERVICE: Final = "tamis.Broker"
LINK: Final = f"/{SERVICE}/Link"
ATTACH: Final = f"/{SERVICE}/Attach"
STATUS: Final = f"/{SERVICE}/Status"

MESSAGE_BYTES: Final = 64 << 20
"""The largest message that is taken."""

_COMMON: Final = [
    ("grpc.max_receive_message_length", MESSAGE_BYTES),
    ("grpc.max_send_message_length", MESSAGE_BYTES),
    # A neighbour whose machine is gone sends no farewell: asked whether it is there, it does not answer.
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    # This is what bounds the answer in newer gRPC; left out, it is a minute.
    ("grpc.http2.ping_timeout_ms", 5_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
]
SERVER_OPTIONS: Final = [
    *_COMMON,
    ("grpc.so_reuseport", 0),
    ("grpc.http2.min_recv_ping_interval_without_data_ms", 5_000),
    ("grpc.http2.max_ping_strikes", 0),
]
# Connections are made anew by us, as soon as we like.
CHANNEL_OPTIONS: Final = [*_COMMON, ("grpc.initial_reconnect_backoff_ms", 100), ("grpc.use_local_subchannel_pool", 1)]
