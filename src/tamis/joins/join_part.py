"""Part of an index for joins: a join server that is saved and opened with the index, and explanations of joins."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import pyarrow as pa

from tamis.errors import EventError, IndexFileError, Violation
from tamis.joins.arrivals import Result
from tamis.joins.holding import Holding
from tamis.joins.intake import TableRecord
from tamis.joins.server import JoinServer
from tamis.language import Limits, print_filter
from tamis.language.joins import parse_join
from tamis.matching.conditions import event_values
from tamis.matching.explanation import Explanation, Verdict, explain
from tamis.schema import EVENT_TYPE, Schema

# Explanation of why an event would change the content of a join, or not: its table's conditions, and its partners.


@dataclass(frozen=True, slots=True)
class JoinExplanation(Explanation):
    """Explanation of a join: the conditions on the event's table; `matched` if it would be part of a result.

    `table` is None where the event is a row of no table of the join. `partners` has, for each other table, the rows
    that agree with the event where the two are joined directly, and how many of these pass their own conditions.
    `results` are those that the event would be part of: a row with the event's key is ignored.
    """

    table: str | None
    partners: Mapping[str, tuple[int, int]]
    results: int

    @property
    def first_failure(self) -> Verdict | None:
        """First failed condition; None as well where all held, and nothing joins with the event."""
        held = any(all(one.state == "held" for one in verdicts) for verdicts in self.alternatives)
        return None if held else Explanation(False, self.alternatives).first_failure

    def __str__(self) -> str:
        if self.table is None:
            return "no change: the event is a row of none of its tables"
        return "\n".join([Explanation.__str__(self), self.joined])

    @property
    def joined(self) -> str:
        """Text on the rows that the event joins with."""
        lines = []
        for table, (agreeing, passing) in self.partners.items():
            lines.append(f"joined with {table}: {agreeing:,} rows, of which {passing:,} pass their conditions")
        return "\n".join([*lines, f"results that it is part of: {self.results:,}"])


def explain_join(server: JoinServer, id: str, event: Mapping[str, object]) -> JoinExplanation:
    """Explains the effect of an event on a subscription, if it came now as a row that is put."""
    schema = server.schema
    join = parse_join(server.text(id), schema, server.limits)
    batch = schema.to_arrow([event])
    (values,) = event_values(batch, schema)
    types = values.get(EVENT_TYPE, [schema.default_event_type])
    table = next((name for name in types if name in join.signature.tables), None)
    if table is None:
        return JoinExplanation(False, ((),), None, {}, 0)
    for name in schema.tables[table].join:
        if name not in values:
            message = f"a row of {table} needs {name}, by which it is joined"
            raise EventError([Violation(0, name, "table", None, message)])
    conditions = explain(print_filter(join.filter(table), schema), event, schema, server.limits)
    agreeing: dict[str, tuple[int, int]] = {}
    results: set[Result] = set()
    holding = Holding(join.signature, {}, lambda result, _: results.add(result), results.discard)
    for name in join.signature.tables:
        if name == table:
            holding.put(0, name, (), values, True)
            continue
        attributes = join.signature.between(table, name)
        rows = server.rows(name)
        passing = server.passing(id, name)
        agree = {key for key, row in rows.items() if all(row[one] == values[one] for one in attributes)}
        if attributes:
            agreeing[name] = len(agree), len(agree & passing.keys())
        for key in agree & passing.keys():
            holding.put(0, name, key, passing[key], True)
    count = len(results) if conditions.matched else 0
    return JoinExplanation(count > 0, conditions.alternatives, table, agreeing, count)


# Joins in the folder of a saved index: ids and texts, and the rows of every table as they are.

_TEXTS = "joins.arrow"
_COLUMNS = pa.schema([("id", pa.large_string()), ("filter", pa.large_string())])
_ABOUT = b"tamis"


def save_joins(server: JoinServer, folder: Path) -> dict[str, Any]:
    """Writes subscriptions and tables; returns what `open_joins` has to know of the files."""
    files = {_TEXTS: _written(folder / _TEXTS, server.texts().cast(_COLUMNS))}
    for number, (name, record) in enumerate(server.tables().items()):
        table = pa.Table.from_batches([record.rows])
        about = {"table": name, "arrived": record.arrived, "latest": record.latest, "arrivals": record.arrivals}
        file = f"table-{number}.arrow"
        files[file] = _written(folder / file, table.replace_schema_metadata({_ABOUT: json.dumps(about)}))
    return {"files": files, "sequence": server.sequence}


def open_joins(server: JoinServer, folder: Path, about: dict[str, Any], verify: bool = True) -> None:
    """Fills a new server with the subscriptions and tables that `save_joins` wrote."""
    records = {}
    for file, checksum in about["files"].items():
        table = _read(folder / file, checksum if verify else None)
        if file == _TEXTS:
            continue
        told = json.loads(table.schema.metadata[_ABOUT])
        whole = table.replace_schema_metadata().combine_chunks()
        rows = whole.to_batches()[0] if len(whole) else pa.RecordBatch.from_pylist([], schema=whole.schema)
        records[told["table"]] = TableRecord(rows, told["arrivals"], told["arrived"], told["latest"])
    server.restore(records, about["sequence"])
    server.add(read_joins(folder))


def read_joins(folder: str | Path) -> pa.Table:
    """Columns `id` and `filter` of the joins in a saved index; empty where there are none."""
    path = Path(folder) / _TEXTS
    return _read(path, None) if path.exists() else _COLUMNS.empty_table()


def _written(path: Path, table: pa.Table) -> int:
    """Writes a table; returns its checksum."""
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    with pa.memory_map(str(path)) as file:
        return zlib.crc32(file.read_buffer())


def _read(path: Path, checksum: int | None) -> pa.Table:
    try:
        file = pa.memory_map(str(path))
        if checksum is not None and zlib.crc32(file.read_buffer()) != checksum:
            raise IndexFileError(f"{path} is damaged: it does not agree with its checksum; compile anew")
        file.seek(0)
        return pa.ipc.open_file(file).read_all()
    except (OSError, pa.ArrowInvalid) as error:
        raise IndexFileError(f"{path} is lost or damaged: {error}; compile anew") from error


class JoinPart(JoinServer):
    """Part of an index with the tables of a schema and the subscriptions that join them."""

    FORMAT: ClassVar[int] = 3

    def explain(self, event: Mapping[str, object], id: str) -> JoinExplanation:
        """Explains the conditions on the event's table, and what the event would join with in the current tables."""
        return explain_join(self, id, event)

    def save(self, folder: Path) -> dict[str, Any]:
        """Writes subscriptions and tables; returns the part's entries of the index's description."""
        return {"joins": save_joins(self, folder)}

    @classmethod
    def open(cls, folder: Path, about: Mapping[str, Any], schema: Schema, limits: Limits, verify: bool) -> Self:
        """Reads what `save` wrote, given the index's description; empty where that says nothing of joins."""
        part = cls(schema, limits=limits)
        if "joins" in about:
            open_joins(part, folder, about["joins"], verify)
        return part


# Tables of a server as events that make them again, to be kept elsewhere.


def kept_tables(server: JoinServer) -> tuple[pa.RecordBatch, dict[str, int]]:
    """All rows, the latest change of each table last, and the greatest time seen by each window."""
    schema = server.schema
    records = server.tables()
    parts = []
    for name, record in records.items():
        types = pa.array([[name]] * record.rows.num_rows, schema.arrow_schema.field(EVENT_TYPE).type)
        parts.append(pa.Table.from_batches([record.rows]).append_column(EVENT_TYPE, types))
    together = pa.concat_tables(parts, promote_options="default") if parts else pa.table({})
    latest = {name: record.latest for name, record in records.items() if record.latest is not None}
    return schema.to_arrow(together), latest


def restore_tables(server: JoinServer, rows: pa.RecordBatch, latest: Mapping[str, int]) -> None:
    """Puts kept rows into tables that are empty, without messages."""
    server.follow(rows)
    server.remember_times(latest)


def row_count(server: JoinServer) -> int:
    return sum(record.rows.num_rows for record in server.tables().values())
