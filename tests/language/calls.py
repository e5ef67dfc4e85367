"""Operators as the language knows them, for tests of calls."""

from __future__ import annotations

from tamis.language import Signatures
from tamis.language.calls import OperatorSignature, Parameter

OPERATORS = Signatures(
    [
        OperatorSignature("loc_in", (Parameter("place", "string"),)),
        OperatorSignature("mob", (Parameter("people", "integer", variable=True),)),
        OperatorSignature("distance", (Parameter("place", "string"), Parameter("metres", "float", variable=True))),
        OperatorSignature("pair", (Parameter("a", variable=True), Parameter("b", variable=True))),
        OperatorSignature("owner", (Parameter("name", "string", variable=True),)),
        OperatorSignature("seen", (Parameter("at", "timestamp", variable=True),)),
        OperatorSignature("words", (), rest=Parameter("word", "string")),
        OperatorSignature("traffic", (Parameter("state", "string", choices=("accident", "congestion")),)),
        OperatorSignature(
            "within", (Parameter("place", "string"), Parameter("metres", "float", optional=True, default=100))
        ),
        OperatorSignature(
            "lit", (Parameter("on", "boolean", optional=True, default=True), Parameter("how", optional=True))
        ),
    ]
)
