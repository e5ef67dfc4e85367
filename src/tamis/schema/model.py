"""`Schema`: the domains, attributes and event types of events, and everything that is checked against them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import pyarrow as pa

from tamis.errors import EventError, SchemaError, Violation
from tamis.schema import canonical, checking, extension, inference, json_lines, reading
from tamis.schema.checking import Checked
from tamis.schema.domains import Annotation, Attribute, Domain, EventType, view
from tamis.schema.extension import Difference, difference
from tamis.schema.form import Parts, read_form, read_yaml, write_form, write_yaml
from tamis.schema.tables import Table

_REMEMBERED_VIEWS = 4096


class Schema:
    """Schema of domains, attributes and event types (Fabret et al., §2.1); immutable: an extension makes a new schema.

    `attributes` starts with the built-in `event_type`, then follows the declaration; an extension only appends, so
    attribute numbers stay. Two schemas are equal when their fingerprints are.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        # The declared domains by name; the plain ones and those written inline are not among them.
        self.domains: Final[Mapping[str, Domain]] = MappingProxyType(parts.domains)
        # Every attribute by its dotted name, `event_type` first.
        self.attributes: Final[Mapping[str, Attribute]] = MappingProxyType(parts.attributes)
        self.event_types: Final[Mapping[str, EventType]] = MappingProxyType(parts.event_types)
        # The event types whose events are rows, by name.
        self.tables: Final[Mapping[str, Table]] = MappingProxyType(parts.tables)
        # The type of an event that names none: the only type there is, or was when the schema was first written.
        self.default_event_type: Final[str | None] = parts.default_event_type
        self._views: dict[frozenset[str], Mapping[str, Annotation]] = {}

    @classmethod
    def from_dict(cls, form: Mapping[str, object]) -> Schema:
        """Schema of a dict form; `SchemaError` names the place of the first mistake."""
        return cls(read_form(form))

    @classmethod
    def from_yaml(cls, text: str) -> Schema:
        """Schema of a YAML text."""
        return cls.from_dict(read_yaml(text))  # type: ignore[arg-type]  # read_form checks it

    @classmethod
    def load(cls, path: str | Path) -> Schema:
        """Schema in a YAML file; JSON is YAML too."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except OSError as error:
            raise SchemaError(f"cannot read the schema file: {error.strerror}", str(path)) from error
        except UnicodeDecodeError as error:
            raise SchemaError("the schema file is not UTF-8", str(path)) from error
        try:
            return cls.from_yaml(text)
        except SchemaError as error:
            raise SchemaError(error.message, f"{path}: {error.place}".rstrip(": "), error.remedy) from error

    def to_dict(self) -> dict[str, object]:
        """Canonical dict form."""
        return write_form(self._parts)

    def to_yaml(self) -> str:
        """Canonical form as YAML."""
        return write_yaml(self.to_dict())

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the canonical form: the same on every machine and in every version."""
        form = json.dumps(self.to_dict(), ensure_ascii=True, separators=(",", ":"))
        return hashlib.sha256(form.encode("ascii")).hexdigest()

    @cached_property
    def arrow_schema(self) -> pa.Schema:
        """Arrow schema of the canonical columns, one per attribute under its dotted name, in their order."""
        return pa.schema([pa.field(attribute.name, attribute.arrow_type) for attribute in self.attributes.values()])

    @cached_property
    def solitary(self) -> frozenset[str]:
        """Attributes whose names no other's continues after a dot: an object in their lists is no nesting."""
        continued = {name[:place] for name in self.attributes for place in _dots(name)}
        return frozenset(self.attributes) - continued

    def view(self, event_types: Iterable[str]) -> Mapping[str, Annotation]:
        """Attributes that an event of these types must and may have; the types must be the schema's."""
        key = frozenset(event_types)
        found = self._views.get(key)
        if found is None:
            if len(self._views) >= _REMEMBERED_VIEWS:
                self._views.clear()
            found = self._views[key] = MappingProxyType(view(self.event_types[name] for name in sorted(key)))
        return found

    def extend(
        self,
        *,
        domains: Mapping[str, object] | None = None,
        attributes: Mapping[str, object] | None = None,
        event_types: Mapping[str, object] | None = None,
        optional: Mapping[str, Mapping[str, object]] | None = None,
        tables: Mapping[str, object] | None = None,
    ) -> Schema:
        """A new schema by the four extension rules; every event valid before is valid after.

        `optional` adds attributes to existing event types: `{"furniture": {"tags": ["optional", "multiple"]}}`.
        `tables` makes tables of event types, new ones or old ones that were none.
        """
        return Schema.from_dict(extension.extend(self, domains, attributes, event_types, optional, tables))

    def difference(self, other: Schema) -> Difference:
        """Additions of the other schema, as `extend` takes them, and the parts that both define differently."""
        return difference(self, other)

    @classmethod
    def infer(
        cls, source: object, event_type: str | Sequence[str] = "event", *, skip_unsupported: bool = False
    ) -> Schema:
        """A schema that every row of an Arrow table, Spark DataFrame, or Parquet file or folder satisfies.

        Structs become dotted names, lists multiple attributes, and lists of structs both; a column that cannot be null
        is mandatory, the others optional. With a column `event_type`, its values are the event types; else
        `event_type` names the only one.
        """
        return cls.from_dict(inference.infer(source, event_type, skip_unsupported))

    def violations(self, event: Mapping[str, object], row: int = 0) -> list[Violation]:
        """Violations of one event; `row` is the number it is reported under."""
        return reading.violations(self, event, row)

    def validate(self, event: Mapping[str, object]) -> None:
        """Raises `EventError` unless the event satisfies R1–R3 and its values their domains."""
        found = self.violations(event)
        if found:
            raise EventError(found)

    def to_arrow(self, events: Sequence[Mapping[str, object]] | pa.Table | pa.RecordBatch) -> pa.RecordBatch:
        """Canonical batch of events. Raises `EventError` on values of no domain; does not check R1–R3."""
        return canonical.to_arrow(self, events)

    def check(self, events: pa.Table | pa.RecordBatch, *, ignore_unknown: bool = False) -> Checked:
        """Valid rows in canonical form, and the violations of the others.

        With `ignore_unknown`, columns that are no attributes are passed over instead of breaking R3.
        """
        return checking.check(self, events, ignore_unknown)

    def check_json(
        self, lines: pa.Array | pa.ChunkedArray, *, ignore_unknown: bool = False, judged: bool = False
    ) -> Checked:
        """Checks JSON texts, one event each. A text that is no JSON object breaks rule `form`.

        Events that were `judged` under an earlier version of the schema stay events where a table cannot take them; and
        those with the member `tamis.passed_over`, judged perhaps where there was no schema, also where they lack a type
        or mandatory attributes.
        """
        return json_lines.check_json(self, lines, ignore_unknown, judged)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __reduce__(self) -> tuple[Any, ...]:
        return Schema.from_dict, (self.to_dict(),)

    def __repr__(self) -> str:
        return f"<Schema of {len(self.event_types)} event types, {len(self.attributes) - 1} attributes>"


def _dots(name: str) -> list[int]:
    return [place for place, character in enumerate(name) if character == "."]
