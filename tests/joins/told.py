"""Schemes in plain Python: what a server would send to one client for each change, from the oracle's tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from tamis.joins.arrivals import Identity, Result, Values
from tamis.joins.client import Cut, Forgotten, Kept, Note, Snapshot, Whole
from tamis.joins.naive import Change, NaiveJoins
from tamis.language.joins.join import Signature
from tamis.matching.naive import holds

Rows: TypeAlias = dict[str, dict[Identity, Values]]
Told: TypeAlias = Callable[[NaiveJoins, str, Mapping[str, str], Change, Rows, Rows, int], list[Note]]


def selected(oracle: NaiveJoins, id: str) -> Rows:
    """The rows of each table that pass their conditions."""
    join = oracle.joins[id]
    return {
        name: {
            key: row
            for key, row in oracle.tables[name].rows.items()
            if holds(join.conditions[name], row, oracle.schema)
        }
        for name in join.signature.tables
    }


def filtered(rows: Rows, signature: Signature, filtering: Mapping[str, str]) -> Rows:
    """The semijoins: rows that have a partner in the table that filters theirs."""
    found: Rows = {}
    for table, own in rows.items():
        attributes = signature.between(table, filtering[table])
        partners = {key_of(row, attributes) for row in rows[filtering[table]].values()}
        found[table] = {key: row for key, row in own.items() if key_of(row, attributes) in partners}
    return found


def key_of(row: Values, attributes: tuple[str, ...]) -> tuple[object, ...]:
    return tuple(row[attribute][0] for attribute in attributes)


def relaxed(
    oracle: NaiveJoins, id: str, _: Mapping[str, str], change: Change, before: Rows, after: Rows, number: int
) -> list[Note]:
    """Rel-Sel: the change itself, to whoever selects what the row was or is."""
    parts: list[Kept | Forgotten] = []
    if change.table in after:
        if change.after is not None and (
            change.identity in before[change.table] or change.identity in after[change.table]
        ):
            wanted = change.identity in after[change.table]
            parts.append(Kept(change.table, change.identity, change.after, wanted))
        if change.identity in before[change.table]:
            parts.append(Forgotten(change.table, change.identity))
    return [Note(number, (part,)) for part in parts]


def semijoined(
    oracle: NaiveJoins, id: str, filtering: Mapping[str, str], change: Change, before: Rows, after: Rows, number: int
) -> list[Note]:
    """Enum-SJ: what each semijoin gains, what was deleted itself, and partners lost where the client cannot tell."""
    signature = oracle.joins[id].signature
    if change.table not in signature.tables:
        return []
    old, new = (filtered(rows, signature, filtering) for rows in (before, after))
    notes: list[Note] = []
    for table in signature.tables:
        for key, row in new[table].items():
            if old[table].get(key) != row and (table, key) != (change.table, change.identity):
                notes.append(Note(number, (Kept(table, key, row),)))
    was, now = old[change.table].get(change.identity), new[change.table].get(change.identity)
    kept = () if now is None else (Kept(change.table, change.identity, now),)
    gone = () if was is None else (Forgotten(change.table, change.identity),)
    attributes = signature.between(change.table, filtering[change.table])
    if was is not None and now is not None and key_of(was, attributes) == key_of(now, attributes):
        notes.append(Note(number, (*kept, *gone)))
    else:
        notes += [Note(number, parts) for parts in (kept, gone) if parts]
    for table in signature.tables:
        if filtering[table] != change.table or filtering[change.table] == table or change.before is None:
            continue
        attributes = signature.between(table, change.table)
        lost = key_of(change.before, attributes)
        if change.identity in before[change.table] and not any(
            key_of(row, attributes) == lost for row in after[change.table].values()
        ):
            notes.append(Note(number, (Cut(table, change.before),)))
    return notes


def results(oracle: NaiveJoins, id: str) -> dict[Result, tuple[Values, ...]]:
    return oracle.content(id)


def enumerated(
    old: Mapping[Result, tuple[Values, ...]], new: Mapping[Result, tuple[Values, ...]], number: int
) -> list[Note]:
    """Enum-J: whole results that came and went."""
    came = [Whole(one, rows, there=True) for one, rows in new.items() if old.get(one) != rows]
    went = [Whole(one, rows, there=False) for one, rows in old.items() if new.get(one) != rows]
    return [Note(number, (part,)) for part in (*came, *went)]


def snapshot(oracle: NaiveJoins, id: str, filtering: Mapping[str, str], number: int) -> Snapshot:
    """All that a semijoin's client holds."""
    return Snapshot(number, filtered(selected(oracle, id), oracle.joins[id].signature, filtering))
