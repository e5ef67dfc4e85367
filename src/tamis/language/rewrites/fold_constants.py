"""TRUE and FALSE vanish from AND and OR; nested ANDs and ORs become one."""

from __future__ import annotations

from tamis.language.pushed import Pushed
from tamis.language.tree import And, Or


def fold_constants(pushed: Pushed) -> Pushed:
    """The same filter, TRUE or FALSE, or without them: And and Or alternate and have two or more different items."""
    if not isinstance(pushed, And | Or):
        return pushed
    kind, other = (And, Or) if isinstance(pushed, And) else (Or, And)
    items: dict[Pushed, None] = {}
    for item in map(fold_constants, pushed.items):
        if item == other():
            return other()
        items.update(dict.fromkeys(item.items if isinstance(item, kind) else (item,)))
    return next(iter(items)) if len(items) == 1 else kind(tuple(items))
