"""YAML in and out, stricter than YAML itself: a key given twice is refused instead of the last one winning."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, Final

import yaml

from tamis.errors import SchemaError
from tamis.quoting import shown
from tamis.yaml_loading import Loader, TooManyAliasesError, load

_REMEDIES: Final = {
    "'\\t'": "indent by spaces, not by tabs",
    "expected ',' or": "close the bracket that was opened before, or put a comma between",
    "another document": "leave '---' out",
    "undefined alias": "quote a text that begins with *",
    "": "quote a text that holds ': ' or begins with a quote",
}
"""What helps, by words of PyYAML's own message; the last holds for all others."""


class _Loader(Loader):
    """The loader of YAML that others wrote, but for repeated keys."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[Hashable] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, Hashable):
                if key in seen:
                    raise SchemaError(
                        f"{shown(key)} is given twice", _place(key_node.start_mark), "remove or rename one"
                    )
                seen.add(key)
        return super().construct_mapping(node, deep)


def read_yaml(text: str) -> object:
    """The dict form in a YAML text; a SchemaError says in one line where it is none."""
    try:
        return load(text, _Loader)
    except TooManyAliasesError as error:
        raise SchemaError(error.problem or "", _place(error.problem_mark), "write the values out") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        reason = f"this is no YAML: {(error.problem or error.context or '').removeprefix('but ')}"
        raise SchemaError(
            reason, _place(mark), next(_REMEDIES[words] for words in _REMEDIES if words in reason)
        ) from error
    except (yaml.YAMLError, ValueError) as error:
        raise SchemaError(f"this is no YAML: {' '.join(str(error).split())}") from error
    except RecursionError:
        raise SchemaError("the YAML is nested too deeply", remedy="flatten it") from None


def _place(mark: yaml.Mark | None) -> str:
    return f"line {mark.line + 1}, column {mark.column + 1}" if mark is not None else ""


def write_yaml(form: Mapping[str, object]) -> str:
    """A YAML text that `read_yaml` turns into the same form."""
    return yaml.safe_dump(dict(form), sort_keys=False, allow_unicode=True, width=120)
