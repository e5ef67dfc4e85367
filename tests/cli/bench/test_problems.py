"""What the options of `tamis bench` ask to be measured."""

from __future__ import annotations

import pytest

import tamis
from tamis.cli.base.options import CommandError
from tamis.cli.bench.problems import DEFAULT_MATCHERS, EVERY_WORKLOAD, matchers_named, named_problems


def test_matchers_are_listed_or_all() -> None:
    assert matchers_named("columnar, tree,columnar") == ["columnar", "tree"]
    assert matchers_named("all") == list(tamis.MATCHERS)
    assert matchers_named("auto") == ["auto"]
    assert matchers_named(None) == list(DEFAULT_MATCHERS)
    assert "naive" not in DEFAULT_MATCHERS


@pytest.mark.parametrize("text", ["nobody", "columnar,all", " , "])
def test_a_matcher_that_there_is_not_is_refused_with_those_there_are(text: str) -> None:
    with pytest.raises(CommandError, match="there are columnar, naive"):
        matchers_named(text)


def test_every_workload_comes_in_every_size_in_ascending_order() -> None:
    problems = named_problems(["ranges,le_subscribe(p=1)", "gryphon"], "2k,1k,1000", [], events=10, seed=3)
    assert [(problem.name, problem.subscriptions) for problem in problems] == [
        (name, size) for name in ("ranges", "le_subscribe(p=1)", "gryphon") for size in (1000, 2000)
    ]
    made = problems[2].make()
    assert (made.name, len(made.subscriptions), len(made.events)) == ("le_subscribe(p=1)", 1000, 10)


def test_commas_between_parameters_divide_nothing() -> None:
    (problem,) = named_problems(["gryphon(attributes=3, values=2)"], "10", [], events=5, seed=1)
    assert problem.make().events.num_columns == 3


def test_a_setting_goes_to_the_workloads_that_have_it() -> None:
    problems = named_problems(["le_subscribe,ranges"], "10", ["p=0.8"], events=5, seed=1)
    assert [problem.name for problem in problems] == ["le_subscribe(p=0.8)", "ranges"]
    with pytest.raises(CommandError, match="none of the workloads has such a parameter"):
        named_problems(["ranges"], "10", ["p=0.8"], events=5, seed=1)
    with pytest.raises(CommandError, match=r"as in p=0\.8"):
        named_problems(["le_subscribe"], "10", ["p"], events=5, seed=1)


def test_all_workloads_can_be_made() -> None:
    problems = named_problems(["all"], "20", [], events=5, seed=1)
    assert [problem.name for problem in problems] == list(EVERY_WORKLOAD)
    assert all(len(problem.make().subscriptions) == 20 for problem in problems)


def test_the_seed_draws_the_workload() -> None:
    one, again, other = (named_problems(["ranges"], "20", [], 5, seed)[0].make() for seed in (1, 1, 2))
    assert one.subscriptions.equals(again.subscriptions)
    assert not one.subscriptions.equals(other.subscriptions)
