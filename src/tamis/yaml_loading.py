"""Safe YAML loading with a bound on aliases, against documents that expand without end ("billion laughs").

An alias costs a few characters and no memory, and stands for all that its anchor has: nested, they make values that
code which walks through them never gets to the end of.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import yaml

MOST_REPEATED: Final = 100_000
"""Nodes that the aliases of one document may add to those that are written out."""

_OPEN: Final = -1  # the size of a node that is being counted


class TooManyAliasesError(yaml.MarkedYAMLError):
    """Aliases that stand for too much, or for what they are a part of."""


class BoundedAliases:
    """Mixin of a loader that refuses documents by their aliases, before any value is made of them.

    To be mixed in before one of PyYAML's loaders, whichever parser that one has.
    """

    def construct_document(self, node: yaml.Node) -> Any:
        """The value of a document."""
        _require_few(node)
        return super().construct_document(node)  # type: ignore[misc]  # of the loader that this is mixed into


class Loader(BoundedAliases, yaml.SafeLoader):
    """PyYAML's safe loader, with a bound on aliases."""


class QuickLoader(BoundedAliases, getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Loader with the parser in C, some ten times faster, where PyYAML was built with it; its messages are shorter."""


def load(text: str, loader: Any = Loader) -> Any:
    """Loads the one document of a text; `yaml.YAMLError` if it is none."""
    return yaml.load(text, Loader=loader)


def load_all(text: str, loader: Any = Loader) -> Iterator[Any]:
    """Loads the documents of a text."""
    return yaml.load_all(text, Loader=loader)


def _require_few(root: yaml.Node) -> None:
    """Counts every node once, and adds up how often each is there: never through the aliases themselves."""
    sizes: dict[int, int] = {}
    left = [root]
    while left:
        node = left[-1]
        children = _children(node)
        if id(node) not in sizes:
            sizes[id(node)] = _OPEN
            for child in children:
                if sizes.get(id(child)) == _OPEN:
                    raise _refused("an alias stands for what it is a part of", child)
            left += [child for child in children if id(child) not in sizes]
            continue
        left.pop()
        if sizes[id(node)] == _OPEN:
            sizes[id(node)] = 1 + sum(sizes[id(child)] for child in children)
            if sizes[id(node)] - len(sizes) > MOST_REPEATED:
                raise _refused(f"its aliases stand for more than {MOST_REPEATED:,} values", node)


def _refused(reason: str, node: yaml.Node) -> TooManyAliasesError:
    return TooManyAliasesError(problem=reason, problem_mark=node.start_mark)


def _children(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.SequenceNode):
        return list(node.value)
    if isinstance(node, yaml.MappingNode):
        return [part for pair in node.value for part in pair]
    return []
