"""Catalogue of the auction workload: its schema, and the words that titles, tags and sellers are made of."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TypeAlias

from tamis.schema import Schema

Tree: TypeAlias = "dict[str, Tree]"

PERIODS = ("XVI", "XVII", "XVIII", "XIX", "XX")

FURNITURE: Tree = {
    "bedroom": {"bed": {"four_poster": {}, "daybed": {}}, "wardrobe": {"armoire": {}}, "nightstand": {}},
    "dining_room": {"table": {"round_table": {}, "trestle_table": {}}, "chair": {"armchair": {}, "side_chair": {}}},
    "study": {"desk": {"secretaire": {}, "bureau_plat": {}}, "bookcase": {}},
    "storage": {"chest": {"commode": {}, "coffer": {}}, "cabinet": {"vitrine": {}}},
    "lighting": {"chandelier": {}, "sconce": {}, "candelabrum": {}},
}


def _nodes(tree: Tree) -> Iterator[str]:
    for name, below in tree.items():
        yield name
        yield from _nodes(below)


CATEGORIES = tuple(_nodes(FURNITURE))


def auction_schema() -> Schema:
    """Schema of the auctions: an event is of type antiques, furniture, or both."""
    lot = {
        "price": "mandatory",
        "quantity": "mandatory",
        "title": "optional",
        "tags": ["optional", "multiple"],
        "sold": "optional",
        "opened": "optional",
        "old.price": "optional",
        "seller.name": "optional",
        "seller.rating": "optional",
    }
    return Schema.from_dict(
        {
            "domains": {
                "period": {
                    "type": "enumerated",
                    "values": list(PERIODS),
                    "order": [list(pair) for pair in itertools.pairwise(PERIODS)],
                },
                "furniture": {"type": "hierarchical", "tree": FURNITURE},
            },
            "attributes": {
                "price": "float",
                "quantity": "integer",
                "title": "string",
                "tags": "string",
                "sold": "boolean",
                "opened": "timestamp",
                "old.price": "float",
                "seller.name": "string",
                "seller.rating": "integer",
                "period": "period",
                "furniture_category": "furniture",
            },
            "event_types": {
                "antiques": {**lot, "period": "mandatory"},
                "furniture": {**lot, "furniture_category": "mandatory"},
            },
        }
    )


KINDS = {
    "four_poster": "four-poster bed",
    "daybed": "daybed",
    "bed": "bedstead",
    "armoire": "armoire",
    "wardrobe": "wardrobe",
    "nightstand": "nightstand",
    "round_table": "round table",
    "trestle_table": "trestle table",
    "table": "dining table",
    "armchair": "armchair",
    "side_chair": "side chair",
    "chair": "chair",
    "secretaire": "secrétaire",
    "bureau_plat": "bureau plat",
    "desk": "writing desk",
    "bookcase": "bookcase",
    "commode": "commode",
    "coffer": "coffer",
    "chest": "chest of drawers",
    "vitrine": "vitrine",
    "cabinet": "cabinet",
    "chandelier": "chandelier",
    "sconce": "wall sconce",
    "candelabrum": "candelabrum",
}
OBJECTS = (
    "bracket clock",
    "carriage clock",
    "Sèvres vase",
    "Meissen figure",
    "Delft charger",
    "silver coffee pot",
    "bronze of a horse",
    "ivory chess set",
    "terrestrial globe",
    "miniature portrait",
    "Brussels tapestry",
    "Aubusson carpet",
    "long-case clock",
    "marine chronometer",
    "snuff box",
    "gilt mirror",
)
STYLES = {
    "XVI": ("Renaissance", "Tudor", "Henri II", "Elizabethan"),
    "XVII": ("Louis XIII", "Louis XIV", "Jacobean", "William and Mary"),
    "XVIII": ("Louis XV", "Louis XVI", "Queen Anne", "George III", "Gustavian"),
    "XIX": ("Empire", "Regency", "Biedermeier", "Napoléon III", "Victorian"),
    "XX": ("Art Nouveau", "Art Deco", "Bauhaus", "Edwardian"),
}
MATERIALS = (
    "walnut",
    "mahogany",
    "oak",
    "rosewood",
    "satinwood",
    "ebony",
    "cherry",
    "elm",
    "marble",
    "bronze",
    "giltwood",
    "beech",
)
TAGS = (
    *MATERIALS,
    "restored",
    "signed",
    "stamped",
    "provenance",
    "inlaid",
    "carved",
    "painted",
    "pair",
    "set",
    "museum",
    "estate",
    "private collection",
    "no reserve",
    "damaged",
    "marquetry",
    "red",
    "blue",
    "green",
)
_HOUSES = ("Maison", "Galerie", "Antiquités", "House of", "Gebrüder", "Casa")
_NAMES = (
    "Lefèvre",
    "Dubois",
    "Ashworth",
    "Kerr",
    "Hallam",
    "Bianchi",
    "Lindqvist",
    "Okafor",
    "Steiner",
    "Vermeulen",
    "O'Hara",
    "Nakamura",
    "Moreau",
    "Petrov",
    "Sørensen",
    "Castellanos",
    "Whitcombe",
    "Marchetti",
    "Delacroix",
    "Krüger",
)
SELLERS = tuple(f"{house} {name}" for name in _NAMES for house in _HOUSES)
