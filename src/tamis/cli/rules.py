"""Rules of other systems, read from files and folders.

An unreadable rule is set aside with its reason; it never stops the others.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tamis.cli.work.events import read_lines
from tamis.dialects import ConversionError, sigma
from tamis.yaml_loading import load

_SUFFIXES = {
    "eventbridge": (".json", ".jsonl", ".ndjson", ".yaml", ".yml"),
    "jms": (".txt", ".json", ".jsonl", ".ndjson", ".yaml", ".yml"),
    "sigma": (".yaml", ".yml"),
}
_RULE_KEYS = ("rule", "pattern", "EventPattern", "selector")
_ID_KEYS = ("id", "Name", "name")
_LINES_AT_ONCE = 10_000


@dataclass(frozen=True, slots=True)
class Rule:
    """Rule as it was found, under its id; `error` is the reason if it is unreadable."""

    id: str
    form: Any
    error: ConversionError | None = None


def read_rules(paths: Iterable[Path], dialect: str) -> list[Rule]:
    """Reads all rules of files and folders. Of several rules with one id, all but the first have an error."""
    seen: set[str] = set()
    rules = []
    for rule in _found(paths, dialect):
        if rule.id in seen and rule.error is None:
            error = ConversionError("there is a rule with this id before it", "", "give it another id")
            rules.append(Rule(rule.id, None, error))
        else:
            rules.append(rule)
        seen.add(rule.id)
    return rules


def _found(paths: Iterable[Path], dialect: str) -> Iterator[Rule]:
    for path in paths:
        files = [path]
        if path.is_dir():
            files = sorted(file for file in path.rglob("*") if file.suffix.lower() in _SUFFIXES[dialect])
        for file in files:
            try:
                yield from _sigma(file) if dialect == "sigma" else _file(file)
            except UnicodeDecodeError:
                yield Rule(file.stem, None, ConversionError("the file is not UTF-8", str(file)))


def _sigma(path: Path) -> Iterator[Rule]:
    """Rules of Sigma: each document under its own id, else under the file's name."""
    try:
        for number, form in enumerate(sigma.documents(path.read_text(encoding="utf-8")), 1):
            own = form.get("id") if isinstance(form, dict) else None
            yield Rule(str(own or (path.stem if number == 1 else f"{path.stem}-{number}")), form)
    except ConversionError as error:
        yield Rule(path.stem, None, error)


def _file(path: Path) -> Iterator[Rule]:
    suffix = path.suffix.lower()
    if suffix not in (".json", ".yaml", ".yml"):
        yield from _lines(path, suffix in (".jsonl", ".ndjson"))
        return
    text = path.read_text(encoding="utf-8")
    try:
        document = json.loads(text) if suffix == ".json" else load(text)
    except (ValueError, yaml.YAMLError, RecursionError) as error:
        reason = " ".join(str(error).split()) or "nested too deeply"
        yield Rule(path.stem, None, ConversionError(f"the file cannot be read: {reason}", str(path)))
        return
    yield from _document(document, path.stem)


def _lines(path: Path, as_json: bool) -> Iterator[Rule]:
    """Rules line by line, each under its own id, else under the file's name and the line's number."""
    for block in read_lines(path, _LINES_AT_ONCE):
        for line, number in zip(block.lines, block.numbers.tolist(), strict=True):
            name = f"{path.stem}-{number}"
            if not as_json:
                yield Rule(name, line.decode("utf-8").strip())
                continue
            try:
                document = json.loads(line)
            except (ValueError, RecursionError) as error:
                yield Rule(name, None, ConversionError(f"the line is no JSON: {error}", f"line {number}"))
            else:
                yield from _document(document, name)


def _document(document: Any, name: str) -> Iterator[Rule]:
    """Rules of a document: a list of rules, a rule with its id, a mapping from id to a rule's text, or one rule."""
    if isinstance(document, dict) and isinstance(document.get("Rules"), list):
        document = document["Rules"]
    if isinstance(document, list):
        for number, item in enumerate(document, 1):
            yield from _document(item, f"{name}-{number}")
        return
    if isinstance(document, dict) and document:
        key = next((key for key in _RULE_KEYS if isinstance(document.get(key), str | dict)), None)
        if key is not None and any(id in document for id in _ID_KEYS):
            id = next(document[id] for id in _ID_KEYS if id in document)
            yield Rule(str(id), document[key])
            return
        if all(isinstance(text, str) for text in document.values()):
            yield from (Rule(str(id), text) for id, text in document.items())
            return
    yield Rule(name, document)
