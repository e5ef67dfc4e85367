"""Lazy registry: classes by name, each imported when it is first asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class LazyRegistry(Mapping[str, T], Generic[T]):
    """A mapping from names to objects at dotted paths, `package.module:Name`.

    Looking at names (iteration, `in`, length) loads nothing; an entry is imported when it is taken by its name.
    """

    def __init__(self, paths: Mapping[str, str]) -> None:
        self._paths = dict(paths)

    def __getitem__(self, name: str) -> T:
        found: T = loaded(self._paths[name])
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._paths

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)

    def __repr__(self) -> str:
        return f"<LazyRegistry of {', '.join(self._paths)}>"


def loaded(path: str) -> Any:
    """Object at a dotted path, `package.module:Name`; its module is imported if it is not loaded yet."""
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)
