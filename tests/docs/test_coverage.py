"""docs/coverage.md: every part of the papers has code, a test and a command, and all of them exist."""

from __future__ import annotations

import ast
import re
import shlex
from functools import cache
from pathlib import Path

import pytest

from benchmarks.__main__ import LINES
from tamis.lab.experiments.reporting import FIGURES, chosen
from tests.docs.test_commands import understood

ROOT = Path(__file__).resolve().parents[2]
# What the papers have, by their own sections and words. A row of the page speaks of each.
PARTS = {
    "P0": (
        "model §2.1", "one joint substitution", "any argument may be a variable", "variables unify", "once an event",
        "all satisfying bindings", "joined across predicates", "Sequential §4.1", "Theorem 2", "increasing selectivity",
        "cost difference for k links", "greedy ordering", "insert", "delete", "costs §4.3: declared",
        "costs §4.3: learned", "selectivity: known", "selectivity: learned", "valid for a day", "expiry", "unsubscribe",
        "renew", "ticket", "anonymous", "libraries", "naive baseline §5.2", "Table 1", "figures 4–8",
    ),
    "P1": (
        "tests in nodes", "results on edges", "`*`-edges", "related tests", "incremental add", "incremental remove",
        "equality tree", "O(NK)", "bound on visited nodes", "collapsed", "successor", "factoring", "ranges", "figures",
    ),
    "P2": (
        "numeric", "string", "enumerated", "partial order", "hierarchical", "mandatory or optional",
        "unique or multiple", "R1", "R2", "R3", "domain extension", "attribute extension", "event-schema extension",
        "new event type", "seen by all", "cannot break", "kind of", "`contains`", "all attributes bound", "naive",
        "fair-predicate", "Gough & Smith", "rebuilt on change", "equality-preferred", "quarantining", "Hanson",
        "Aguilera", "NEON", "HTTP", "volatile", "several event types at once", "workload", "figures 9–11", "3,200,000",
    ),
    "P3": (
        "insert, delete and update", "join graph", "Q(D')", "Rel-Sel", "Enum-J", "Ref-J", "Ref-J⁺", "Enum-SJ",
        "Ref-SJ-Sub", "Ref-SJ-Tup", "Ref-SJ-Clu", "Ref-SJ-Clu⁺", "SSI §3.1.1", "S-semijoins §3.1.2", "skylines §3.2",
        "joins it", "no longer joins", "multi-way §4", "App. D", "greedy", "parametric model", "sampled simulation",
        "composite join keys", "envelopes", "one attribute chosen", "checked by the client", "CN §2.1", "CN App. A",
        "directory", "repository", "LRU, capped", "soft state", "`Source`", "App. H", "App. I", "Table 2",
        "20,000 nodes", "node stress", "figures 5–14, 17–20, Tables 3 and 4",
    ),
    "P4": (
        "predicate index §3.1", "share sub-graphs", "insertion", "frequency and spread", "shared nodes once",
        "one pass", "two bits", "early stops", "minimal cache", "uncovering", "atomic", "acknowledged", "time-outs",
        "perfect rules", "imperfect rules", "merge policy", "cancellation on unsubscribe",
        "cancellation on being covered", "imperfect degree", "IMT", "advertisement-aware", "inverses",
        "subscription routing table", "publication routing table", "simple, covering-based and merging-based",
        "false positive", "figures 12–15, Table 2",
    ),
}  # fmt: skip
FIGURES_OF_PAPERS = {
    "p0": ["figure-4", "figure-5", "figure-6", "figure-7", "figure-8"],
    "p1": ["cost", "space"],
    "p2": ["figure-9", "figure-10", "figure-11", "adding"],
    "p3": [*(f"figure-{n}" for n in (*range(5, 15), *range(17, 21))), "table-3", "table-4"],
    "p4": ["figure-12", "figure-13", "figure-14", "figure-15", "table-2"],
}


def rows() -> list[tuple[str, list[str]]]:
    """Each row of the tables, with the paper it stands under."""
    found, paper = [], ""
    for line in (ROOT / "docs/coverage.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            paper = line[3:5]
        elif line.startswith("| ") and not line.startswith("| part"):
            found.append((paper, [cell.strip() for cell in line.strip("|").split(" | ")]))
    return found


ROWS = rows()
SHOWN = [f"{paper} {cells[0][:60]}" for paper, cells in ROWS]


@cache
def defined_in(path: Path) -> dict[str, ast.AST]:
    """What a file defines by name, at its top level."""
    found: dict[str, ast.AST] = {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found[node.name] = node
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets: list[ast.expr] = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)]
            found |= dict.fromkeys(names, node)
    return found


def test_every_paper_is_there() -> None:
    assert tuple(dict.fromkeys(paper for paper, _ in ROWS)) == tuple(PARTS)


@pytest.mark.parametrize(("paper", "part"), [(paper, part) for paper, parts in PARTS.items() for part in parts])
def test_every_part_of_a_paper_has_a_row(paper: str, part: str) -> None:
    assert any(part in cells[0] for stands_under, cells in ROWS if stands_under == paper)


@pytest.mark.parametrize("paper", FIGURES_OF_PAPERS)
def test_every_figure_of_a_paper_is_run_anew(paper: str) -> None:
    assert {f"{paper}/{name}" for name in FIGURES_OF_PAPERS[paper]} <= FIGURES.keys()


@pytest.mark.parametrize("cells", [cells for _, cells in ROWS], ids=SHOWN)
def test_a_part_has_code_a_test_and_a_command(cells: list[str]) -> None:
    assert len(cells) == 4
    _, code, test, command = (re.sub(r"^`|`$", "", cell) for cell in cells)
    assert code.startswith("src/tamis/")
    assert test.startswith("tests/")
    for place in (code, test):
        path, _, name = place.partition("::")
        assert name in defined_in(ROOT / path), f"{path} does not define {name}"
    checked = defined_in(ROOT / test.partition("::")[0])[test.partition("::")[2]]
    assert isinstance(checked, ast.FunctionDef)
    assert not any("slow" in ast.unparse(decorator) for decorator in checked.decorator_list)
    assert runs(shlex.split(command))


def runs(words: list[str]) -> bool:
    """Whether there is such a command, with such arguments, lines, figures and options."""
    if words[:3] == ["python", "-m", "benchmarks"]:
        return bool(words[3:]) and set(words[3:]) <= set(LINES)
    if words[:3] == ["tamis", "experiments", "run"]:
        return bool(chosen(words[3:]))
    assert words[0] == "tamis"
    understood(words[1:])
    return True
