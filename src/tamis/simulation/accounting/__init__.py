"""The way of each message gone through hop by hop, and what it costs added up."""

from tamis.simulation.accounting.books import Books, books_for

__all__ = ["Books", "books_for"]
