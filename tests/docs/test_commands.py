"""Every `tamis` command that a page or a help shows is understood: there are such commands, options and choices."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main
from typer.core import TyperGroup

from tamis.cli.commands import app

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", *ROOT.glob("docs/**/*.md")])

_SHELL = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INDENTED = re.compile(r"^    (tamis .*)$", re.MULTILINE)
_EXAMPLE = re.compile(r"^ +(?:.*\| )?(tamis .*)$", re.MULTILINE)
COMMAND = typer.main.get_command(app)
USAGE_ERROR: Any = typer.BadParameter.__base__


def lines_of(page: Path) -> Iterator[str]:
    """The commands of a page, each on one line, without what they are piped into."""
    text = page.read_text(encoding="utf-8")
    for script in [*_SHELL.findall(text), *_INDENTED.findall(text)]:
        for line in script.replace("\\\n", " ").splitlines():
            yield from (part.strip() for part in _piped(line) if part.strip().startswith("tamis "))


def _piped(line: str) -> list[str]:
    """A line cut at its pipes, and its end cut off at a redirection or at &; what is quoted stays whole."""
    words = shlex.shlex(line, posix=False, punctuation_chars="|&<>;")
    words.whitespace_split = True
    parts: list[list[str]] = [[]]
    ended = False
    for word in words:
        if word in ("|", "||", "&&", ";"):
            parts.append([])
            ended = False
        elif word in ("<", ">", ">>", "&"):
            ended = True
        elif not ended:
            parts[-1].append(word)
    return [" ".join(part) for part in parts]


def understood(words: list[str]) -> None:
    """Raises a usage error where a word is not."""
    command: Any = COMMAND
    name: Any = "tamis"
    parent = None
    while True:
        context = command.make_context(name, list(words), parent)
        if not isinstance(command, TyperGroup):
            return
        words = [*context._protected_args, *context.args]
        if not words:
            return
        name, command, words = command.resolve_command(context, words)
        parent = context


SHOWN = [(str(page.relative_to(ROOT)), line) for page in PAGES for line in lines_of(page)]


def helped(command: Any, name: str) -> Iterator[tuple[str, str]]:
    """The examples in the help of a command, and of those below it."""
    for line in _EXAMPLE.findall(command.help or ""):
        yield name, _piped(line)[0]
    if isinstance(command, TyperGroup):
        for below, one in command.commands.items():
            yield from helped(one, f"{name} {below}")


@pytest.mark.parametrize(("place", "line"), [*SHOWN, *helped(COMMAND, "tamis")])
def test_a_command_that_is_shown_is_understood(place: str, line: str) -> None:
    understood(shlex.split(line)[1:])


def test_commands_are_found_on_pages_and_in_helps() -> None:
    assert len(SHOWN) > 25
    assert len(list(helped(COMMAND, "tamis"))) > 40


@pytest.mark.parametrize("line", ["match a b --shcema c", "mtach a b", "broker subscrib x", "serve --port none"])
def test_what_is_no_command_is_noticed(line: str) -> None:
    with pytest.raises(USAGE_ERROR):
        understood(line.split())
