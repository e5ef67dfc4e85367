"""Texts of one chunk bound shape by shape: what filters (shapes.py) and joins (joins/binding.py) have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.language.batches import read_columns
from tamis.language.columns import Column
from tamis.language.cutting import Cutting
from tamis.language.limits import Limits
from tamis.language.signatures import Signatures
from tamis.language.templates import Reading, TemplateCache
from tamis.schema import Schema

Rows = npt.NDArray[np.int64]


class Readable(Protocol):
    """A template of either kind: how the literals of its shape are read."""

    @property
    def readings(self) -> tuple[Reading, ...]: ...


Made = TypeVar("Made", bound=Readable)


class ShapeBinding(ABC, Generic[Made]):
    """One chunk of texts, whose first is row `first` of the whole. Every row is put, or bound alone, exactly once."""

    def __init__(
        self, templates: TemplateCache[Made], first: int, schema: Schema, limits: Limits, operators: Signatures
    ) -> None:
        self.templates = templates
        self.first = first
        self.schema = schema
        self.limits = limits
        self.operators = operators

    def bind_shape(self, texts: pa.StringArray, cutting: Cutting, rows: Rows) -> None:
        """Texts that differ in their literals only: one parse for all whose literals can be read as the first's are."""
        row = int(rows[0])
        text = texts[row].as_py()
        template = None
        if text is not None:
            shape, spans = cutting.example(row, text)
            template = self.templates.template(shape, text, lambda: spans, self.schema, self.limits, self.operators)
        if template is None:
            for row in rows.tolist():
                self.bind_alone(row, texts[row].as_py())
            return
        columns, fits = read_columns(template.readings, cutting, rows, self.limits)
        if fits is not None:
            for row in rows[~fits].tolist():
                self.bind_alone(row, texts[row].as_py())
            rows = rows[fits]
        if len(rows):
            self.put(rows + self.first, template, columns)

    @abstractmethod
    def bind_alone(self, row: int, text: object) -> None:
        """A text that is parsed for itself."""

    @abstractmethod
    def put(self, rows: Rows, template: Made, columns: tuple[Column, ...]) -> None:
        """Rows of the whole that are bound: a template, with columns of values for its literals."""
