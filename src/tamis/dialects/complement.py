"""The texts that match none of some patterns, as a regular expression without lookaround.

Needed where *some value* of several must be other than the patterns: `NOT x LIKE p` says that *every* value is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tamis.language.patterns import regex_literal

ANY = None
Step = frozenset[str] | None
"""One step of a pattern: one of some characters, or (None) any run of characters."""
Pattern = tuple[Step, ...]

_MOST_STATES = 200


class TooLargeError(ValueError):
    """The regular expression would be longer than a filter takes."""


def others(patterns: Sequence[Pattern], longest: int) -> str:
    """Matches exactly the texts that match no pattern in full.

    >>> others([(frozenset("a"), ANY)], 100)
    '^(?s:(?:[^a].*)?)$'
    """
    written = []
    for backwards in (False, True):
        read = [pattern[::-1] for pattern in patterns] if backwards else list(patterns)
        try:
            written.append(_eliminate(_automaton(read), backwards, longest))
        except TooLargeError:
            continue
    if not written:
        raise TooLargeError
    return min(written, key=len)


@dataclass(slots=True)
class _Automaton:
    """State 0 is the first; `accepting` are the states of texts that match no pattern.

    `moves` go by a letter's number, or by -1 for every character that no pattern names.
    """

    letters: list[frozenset[str]]
    moves: list[dict[int, int]] = field(default_factory=list)
    accepting: set[int] = field(default_factory=set)


def _automaton(patterns: Sequence[Pattern]) -> _Automaton:
    """The subset construction: a state is a set of (pattern, position)."""
    letters = _letters(patterns)
    automaton = _Automaton(letters)
    start = _settled(patterns, ((number, 0) for number in range(len(patterns))))
    numbers = {start: 0}
    queue = [start]
    for state in queue:
        moves: dict[int, int] = {}
        for letter in range(-1, len(letters)):
            following = _settled(patterns, _advanced(patterns, letters, state, letter))
            if following not in numbers:
                if len(numbers) == _MOST_STATES:
                    raise TooLargeError
                numbers[following] = len(numbers)
                queue.append(following)
            moves[letter] = numbers[following]
        automaton.moves.append(moves)
        if not any(position == len(patterns[number]) for number, position in state):
            automaton.accepting.add(numbers[state])
    return automaton


def _letters(patterns: Sequence[Pattern]) -> list[frozenset[str]]:
    """The sets of characters that the patterns tell apart; they must not overlap in part."""
    letters: list[frozenset[str]] = []
    for pattern in patterns:
        for step in pattern:
            if step is None or step in letters:
                continue
            if any(step & known for known in letters):
                raise TooLargeError
            letters.append(step)
    return letters


def _settled(patterns: Sequence[Pattern], places: Iterable[tuple[int, int]]) -> frozenset[tuple[int, int]]:
    """With a run of characters, both staying in it and going past it are open."""
    settled = set()
    for number, position in places:
        settled.add((number, position))
        while position < len(patterns[number]) and patterns[number][position] is None:
            position += 1
            settled.add((number, position))
    return frozenset(settled)


def _advanced(
    patterns: Sequence[Pattern], letters: list[frozenset[str]], state: frozenset[tuple[int, int]], letter: int
) -> Iterable[tuple[int, int]]:
    for number, position in state:
        if position == len(patterns[number]):
            continue
        step = patterns[number][position]
        if step is None:
            yield number, position
        elif letter >= 0 and step == letters[letter]:
            yield number, position + 1


def _eliminate(automaton: _Automaton, backwards: bool, longest: int) -> str:
    """State elimination (Brzozowski and McCluskey 1963), last states first, so that tries stay as small as they are."""
    end = len(automaton.moves)
    edges: list[dict[int, str]] = [_edges(automaton, moves) for moves in automaton.moves]
    for state in automaton.accepting:
        edges[state][end] = ""
    for state in range(end - 1, 0, -1):
        loop = edges[state].pop(state, None)
        around = "" if loop is None else (".*" if loop == "." else f"(?:{loop})*")
        for source in range(state):
            into = edges[source].pop(state, None)
            if into is None:
                continue
            for target, onwards in edges[state].items():
                parts = (into, around, onwards)
                path = "".join(reversed(parts) if backwards else parts)
                present = edges[source].get(target)
                edges[source][target] = path if present is None else _either(present, path)
                if len(edges[source][target]) > longest:
                    raise TooLargeError
    loop, rest = edges[0].get(0), edges[0].get(end)
    if rest is None:
        return "$.^"
    around = "" if loop is None else f"(?:{loop})*"
    whole = f"^(?s:{rest + around if backwards else around + rest})$"
    if len(whole) > longest:
        raise TooLargeError
    return whole


def _edges(automaton: _Automaton, moves: dict[int, int]) -> dict[int, str]:
    """One regular expression for all the letters that lead to the same state."""
    targets: dict[int, set[int]] = {}
    for letter, target in moves.items():
        targets.setdefault(target, set()).add(letter)
    edges = {}
    for target, letters in targets.items():
        if -1 in letters:
            left = {letter for letter in moves if letter not in letters}
            edges[target] = f"[^{_members(automaton, left)}]" if left else "."
        else:
            members = _members(automaton, letters)
            one = len(letters) == 1 and len(automaton.letters[next(iter(letters))]) == 1
            edges[target] = members if one else f"[{members}]"
    return edges


def _members(automaton: _Automaton, letters: Iterable[int]) -> str:
    return "".join(regex_literal(member) for letter in sorted(letters) for member in sorted(automaton.letters[letter]))


def _either(left: str, right: str) -> str:
    if not left or not right:
        return f"(?:{left or right})?"
    return f"(?:{left}|{right})"
