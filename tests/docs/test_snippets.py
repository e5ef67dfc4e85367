"""Every example of README.md and of docs/ runs: Python, command line.

A page is read from top to bottom: its ```python blocks share their names. A ```text block right after one is what the
block prints. The fence says what else a block needs: ```python spark runs with the tests' Spark session, ```python
files too, beside files such as a reader has, ```python service against a real server in place of the one at `SERVER`,
and ```python no-test: <reason> is not run. The tutorial is run by a test of its own.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from benchmarks.service.server import Server
from tests.docs.readers_files import READ, WRITTEN, a_readers_files
from tests.docs.snippets import TUTORIAL, snippets

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", *ROOT.glob("docs/**/*.md")])

_SHELL = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SKIPPED = re.compile(r"python no-test: \S.*")
SERVER = "http://127.0.0.1:8080"
LOTS = """
attributes: {title: string, price: float, Symbol: string, PER: float, Analyst: string, Rating: float}
event_types:
  lot: {title: mandatory, price: mandatory}
  Stocks: {Symbol: mandatory, PER: mandatory}
  Reviews: {Symbol: mandatory, Analyst: mandatory, Rating: mandatory}
default_event_type: lot
tables: {Stocks: {key: [Symbol], join: [Symbol]}, Reviews: {key: [Symbol, Analyst], join: [Symbol]}}
"""
# Stands in for `tamis` in a script: writes down how it was called, one line a call.
_RECORDER = 'tamis() { for word in "$@"; do printf \'%s\\037\' "$word"; done >> calls; echo >> calls; }\n'


def pages_with(fence: str) -> list[Path]:
    return [page for page in PAGES if page != TUTORIAL and any(snippet.fence == fence for snippet in snippets(page))]


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


def run(page: Path, fences: tuple[str, ...], capsys: pytest.CaptureFixture[str], server: str = SERVER) -> None:
    names: dict[str, object] = {"__name__": "__main__"}
    for snippet in snippets(page):
        if snippet.fence not in fences:
            continue
        exec(snippet.compiled(page, {SERVER: server}), names)
        printed = capsys.readouterr().out
        if snippet.output is not None:
            assert printed.rstrip("\n") == snippet.output.rstrip("\n")


@pytest.mark.parametrize("page", pages_with("python"), ids=named)
def test_the_python_of_a_page_runs(
    page: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run(page, ("python",), capsys)


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("page", pages_with("python spark"), ids=named)
def test_the_spark_of_a_page_runs(
    page: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run(page, ("python", "python spark"), capsys)


@pytest.mark.spark
@pytest.mark.parametrize("page", pages_with("python files"), ids=named)
def test_what_a_page_does_with_a_readers_files_works(
    page: Path, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All blocks share their names, as in a reader's session.

    A stream that a block starts has taken all there is, and is stopped, before the next block.
    """
    monkeypatch.chdir(tmp_path)
    a_readers_files(tmp_path)
    # The JVM keeps the working folder it was started in, whatever ours is now.
    places = {f'"{name}"': f'"{tmp_path / name}"' for name in (*READ, *WRITTEN)}
    names: dict[str, object] = {"__name__": "__main__"}
    for snippet in snippets(page):
        if snippet.fence in ("python", "python spark", "python files"):
            exec(snippet.compiled(page, places), names)
            for query in spark.streams.active:
                query.processAllAvailable()
                query.stop()
    for name in WRITTEN:
        assert (tmp_path / name).exists(), name


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a real server, which knows lots and stocks, and offers the operator of the page on the service."""
    folder = tmp_path_factory.mktemp("server")
    (folder / "lots.yaml").write_text(LOTS, encoding="utf-8")
    (module,) = [one for one in snippets(ROOT / "docs/service.md") if one.code.startswith("# wordy.py")]
    (folder / "wordy.py").write_text(module.code, encoding="utf-8")
    sys.path.append(str(folder))
    try:
        with Server(folder / "state", folder / "lots.yaml", "--operators", "wordy:words_in") as started:
            started.wait_until_ready()
            yield started.url
    finally:
        sys.path.remove(str(folder))


@pytest.mark.spark
@pytest.mark.parametrize("page", pages_with("python service"), ids=named)
def test_what_a_page_says_to_a_server_works(page: Path, server: str, capsys: pytest.CaptureFixture[str]) -> None:
    run(page, ("python service",), capsys, server)


def test_a_block_is_run_or_says_why_not() -> None:
    fences = {snippet.fence for page in PAGES for snippet in snippets(page)} - {
        "python",
        "python spark",
        "python files",
        "python service",
    }
    assert all(_SKIPPED.fullmatch(fence) for fence in fences), fences


def test_the_example_of_the_readme_has_fifteen_lines() -> None:
    first = snippets(ROOT / "README.md")[0]
    assert len([line for line in first.code.splitlines() if line]) == 15
    assert first.output is not None


def test_the_commands_of_the_readme_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tamis.cli.commands import app

    monkeypatch.chdir(tmp_path)
    (script,) = _SHELL.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    subprocess.run(["sh", "-e", "-c", _RECORDER + script], check=True, timeout=60)
    calls = [line.split("\x1f")[:-1] for line in Path("calls").read_text(encoding="utf-8").splitlines()]
    assert [call[0] for call in calls] == ["match", "explain", "compile"]
    outcomes = [CliRunner().invoke(app, call) for call in calls]
    assert [outcome.exit_code for outcome in outcomes] == [0, 0, 0]
    assert outcomes[0].stdout == '{"title": "Writing desk", "price": 480.0, "subscription": "ann"}\n'


def test_the_readme_begins_with_the_two_commands() -> None:
    commands = re.findall(r"^    (make \w+)", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert commands == ["make demo", "make test"]
    before = (ROOT / "README.md").read_text(encoding="utf-8").split("    make demo")[0]
    assert before.count("\n\n") == 2  # the name and one paragraph


def test_the_commands_of_the_page_on_bench_are_understood(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All is read and checked; only the measuring, which takes long, is left out."""
    from tamis.cli.commands import app
    from tamis.lab import comparison

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(comparison, "compare", lambda *_: iter(()))
    Path("quotes").mkdir()
    Path("build/bench").mkdir(parents=True)
    Path("auctions.yaml").write_text(LOTS, encoding="utf-8")
    Path("subscriptions.jsonl").write_text('{"id": "ann", "filter": "price < 500"}\n', encoding="utf-8")
    Path("events.jsonl").write_text('{"title": "Writing desk", "price": 480}\n', encoding="utf-8")
    scripts = _SHELL.findall((ROOT / "docs/bench.md").read_text(encoding="utf-8"))
    commands = [shlex.split(line)[1:] for script in scripts for line in script.splitlines()]
    assert len(commands) == 10
    for words in commands:
        outcome = CliRunner().invoke(app, words)
        assert "nothing was measured" in outcome.stderr, (words, outcome.output)
