"""Threads share one index: many match while one changes it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import tamis
from tamis.testing import reference_matches
from tamis.workloads import named
from tests.contract.every import answers, every_matcher, texts


@every_matcher
def test_threads_that_match_at_once_get_their_own_answers(matcher: str) -> None:
    workload = named("w2")(subscriptions=1000, events=80, seed=7)
    index = tamis.compile(workload.subscriptions, workload.schema, matcher=matcher)
    expected = reference_matches(texts(workload), workload.schema, workload.events)
    slices = [(start, workload.events.slice(start, 10)) for start in range(0, 80, 10)] * 5
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda piece: answers(index, piece[1]), slices))
    for (start, _), rows in zip(slices, found, strict=True):
        assert rows == expected[start : start + 10]


@every_matcher
def test_what_stays_is_matched_throughout_while_another_thread_changes_the_rest(matcher: str) -> None:
    workload = named("w1")(subscriptions=900, events=10, seed=9)
    every = texts(workload)
    ids = list(every)
    staying, changing = ids[:300], ids[300:]
    index = tamis.compile({key: every[key] for key in staying}, workload.schema, matcher=matcher)
    oracle = reference_matches(every, workload.schema, workload.events)
    least = [{key for key in row if key in set(staying)} for row in oracle]
    done = Event()

    def match_until_done() -> int:
        rounds = 0
        while not done.is_set() or rounds == 0:
            for must, may, found in zip(least, oracle, answers(index, workload.events), strict=True):
                assert must <= set(found) <= set(may)
                assert len(found) == len(set(found))
            rounds += 1
        return rounds

    with ThreadPoolExecutor(3) as pool:
        readers = [pool.submit(match_until_done) for _ in range(3)]
        try:
            for start in range(0, len(changing), 60):
                index.add({key: every[key] for key in changing[start : start + 60]})
                index.remove(changing[start : start + 30])
        finally:
            done.set()
        assert all(reader.result() > 0 for reader in readers)
    kept = set(staying) | {key for start in range(0, len(changing), 60) for key in changing[start + 30 : start + 60]}
    assert answers(index, workload.events) == [[key for key in row if key in kept] for row in oracle]
