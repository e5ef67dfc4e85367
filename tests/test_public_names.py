"""The public names of the package, which are loaded when they are first asked for."""

from __future__ import annotations

import ast
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import tamis


def in_a_new_process(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120).stdout


def test_nothing_of_weight_is_loaded_before_a_name_is_asked_for() -> None:
    code = "import sys, tamis; tamis.TamisError; print(*{'numpy', 'numba', 'pyarrow', 'sqlglot'} & set(sys.modules))"
    assert in_a_new_process(code).strip() == ""


def test_loading_the_engine_loads_no_pandas_which_only_spark_asks_for() -> None:
    code = "import sys, tamis; tamis.compile; print(*{'pandas', 'scipy', 'matplotlib', 'pyspark'} & set(sys.modules))"
    assert in_a_new_process(code).strip() == ""


def test_type_checkers_see_the_names_where_python_finds_them() -> None:
    module = ast.parse(Path(tamis.__file__).read_text(encoding="utf-8"))
    shown = {
        (f"{node.module}", alias.name)
        for node in ast.walk(module)
        if isinstance(node, ast.ImportFrom) and node.module is not None and node.module.startswith("tamis.")
        for alias in node.names
    }
    assert shown == {(f"tamis.{home}", name) for home, names in tamis._HOMES.items() for name in names}
    assert {name for _, name in shown} | {"__version__"} == set(tamis.__all__)


@pytest.mark.parametrize("name", tamis.__all__)
def test_a_public_name_is_there_by_itself(name: str) -> None:
    assert getattr(tamis, name) is not None
    assert name in dir(tamis)
    assert vars(tamis)[name] is getattr(tamis, name)  # and is not looked for again


def test_all_of_them_can_be_imported_at_once() -> None:
    assert in_a_new_process("from tamis import *; print(Schema.__name__, compile.__name__)") == "Schema compile\n"


def test_all_are_listed_before_any_is_loaded() -> None:
    assert in_a_new_process("import tamis; print(set(tamis.__all__) <= set(dir(tamis)))") == "True\n"


def test_a_room_may_be_named_without_an_import_of_it() -> None:
    assert in_a_new_process("import tamis; print(tamis.schema.Schema is tamis.Schema)") == "True\n"


@pytest.mark.parametrize("name", ["nothing", "_private", "__wrapped__"])
def test_there_is_no_other_name(name: str) -> None:
    with pytest.raises(AttributeError, match=f"module 'tamis' has no attribute '{name}'"):
        getattr(tamis, name)


def test_what_was_pickled_comes_back_where_nothing_is_loaded_yet() -> None:
    sent = pickle.dumps(tamis.SchemaError("no such domain", "attributes.price"))
    code = f"import pickle; print(repr(pickle.loads({sent!r}).place))"
    assert in_a_new_process(code) == "'attributes.price'\n"
