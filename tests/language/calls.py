"""Operators as the language knows them, for tests of calls."""

from __future__ import annotations

from tamis.language import Signatures
from tamis.language.calls import Parameter, Signature

OPERATORS = Signatures(
    [
        Signature("loc_in", (Parameter("place", "string"),)),
        Signature("mob", (Parameter("people", "integer", variable=True),)),
        Signature("distance", (Parameter("place", "string"), Parameter("metres", "float", variable=True))),
        Signature("pair", (Parameter("a", variable=True), Parameter("b", variable=True))),
        Signature("owner", (Parameter("name", "string", variable=True),)),
        Signature("seen", (Parameter("at", "timestamp", variable=True),)),
        Signature("words", (), rest=Parameter("word", "string")),
        Signature("traffic", (Parameter("state", "string", choices=("accident", "congestion")),)),
        Signature("within", (Parameter("place", "string"), Parameter("metres", "float", optional=True, default=100))),
        Signature("lit", (Parameter("on", "boolean", optional=True, default=True), Parameter("how", optional=True))),
    ]
)
