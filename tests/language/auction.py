"""The schema of the written examples: single-valued attributes of every kind, and two that may have several values."""

from __future__ import annotations

from tamis.schema import Schema

SCHEMA = Schema.from_yaml(
    """
domains:
  period:    {type: enumerated, values: [XVI, XVII, XVIII, XIX], order: [[XVI, XVII], [XVII, XVIII], [XVIII, XIX]]}
  condition: {type: enumerated, values: [mint, worn, broken]}
  furniture: {type: hierarchical, tree: {bed: {}, table: {desk: {bureau: {}}, bench: {}}}}
attributes:
  price: float
  reserve: float
  quantity: integer
  bids: integer
  title: string
  artist: string
  sold: boolean
  opened: timestamp
  closed: timestamp
  period: period
  condition: condition
  category: furniture
  seller.rating: integer
  tags: string
  sizes: integer
event_types:
  antiques:  {price: mandatory, reserve: optional, quantity: mandatory, bids: optional, title: optional,
              artist: optional, sold: optional, opened: optional, closed: optional, period: optional,
              condition: optional}
  furniture: {price: mandatory, quantity: mandatory, category: optional, seller.rating: optional,
              tags: [optional, multiple], sizes: [optional, multiple]}
"""
)
