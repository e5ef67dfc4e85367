"""A schema for data that already exists."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from tamis.errors import SchemaError
from tamis.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLE = pa.table(
    {
        "id": pa.array([1, 2], pa.int32()),
        "two words": [1.5, None],
        "name": pa.array(["a", None]).dictionary_encode(),
        "sold": [True, None],
        "day": pa.array([1, 2], pa.date32()),
        "at": pa.array([1, 2], pa.timestamp("ns")),
        "cents": pa.array([Decimal(1), Decimal(2)], pa.decimal128(18, 0)),
        "euros": pa.array([Decimal("1.5"), None], pa.decimal128(20, 2)),
        "tags": [["a", "b"], []],
        "seller": [{"rating": 1, "shop": {"city": "x"}}, None],
    }
)


def kinds(schema: Schema) -> dict[str, str]:
    return {name: attribute.domain.kind for name, attribute in list(schema.attributes.items())[1:]}


def test_every_row_of_the_table_satisfies_the_inferred_schema() -> None:
    schema = Schema.infer(TABLE)
    assert kinds(schema) == {
        "id": "integer",
        "two words": "float",
        "name": "string",
        "sold": "boolean",
        "day": "timestamp",
        "at": "timestamp",
        "cents": "integer",
        "euros": "float",
        "tags": "string",
        "seller.rating": "integer",
        "seller.shop.city": "string",
    }
    assert list(schema.event_types) == ["event"]
    assert schema.attributes["tags"].multiple
    assert schema.check(TABLE).violations.num_rows == 0
    assert Schema.infer(TABLE.schema) == schema
    assert Schema.infer(TABLE.to_batches()[0]) == schema


def test_columns_that_cannot_be_null_are_mandatory() -> None:
    inner = pa.struct([pa.field("a", pa.int64(), nullable=False)])
    schema = Schema.infer(
        pa.schema(
            [
                pa.field("id", pa.int64(), nullable=False),
                pa.field("name", pa.string()),
                pa.field("tags", pa.list_(pa.string()), nullable=False),
                pa.field("sure", inner, nullable=False),
                pa.field("unsure", inner),
            ]
        ),
        "order",
    )
    mandatory = {name: annotation.mandatory for name, annotation in schema.event_types["order"].annotations.items()}
    assert mandatory == {"id": True, "name": False, "tags": False, "sure.a": True, "unsure.a": False}


def test_a_column_event_type_gives_the_event_types() -> None:
    assert list(Schema.infer(pa.table({"event_type": ["b", "a", None, "b"], "x": [1] * 4})).event_types) == ["a", "b"]
    table = pa.table({"event_type": [["b", "a"], [], None], "x": [1] * 3})
    assert list(Schema.infer(table).event_types) == ["a", "b"]
    assert list(Schema.infer(table, ["a", "b", "c"]).event_types) == ["a", "b", "c"]
    assert list(Schema.infer(table.schema, "auction").event_types) == ["auction"]
    with pytest.raises(SchemaError, match="more than 1000 different values"):
        Schema.infer(pa.table({"event_type": [str(number) for number in range(2000)]}))


def test_columns_that_no_domain_holds_are_named_or_skipped() -> None:
    table = TABLE.append_column("worth", pa.array([{"a": 1}] * 2, pa.map_(pa.string(), pa.int64())))
    table = table.append_column("items", [[[{"at": {"x": timedelta(1)}}], []]])
    with pytest.raises(SchemaError, match=r"worth \(map<.*\), items.at.x \(list<.*skip_unsupported=True"):
        Schema.infer(table)
    assert Schema.infer(table, skip_unsupported=True) == Schema.infer(TABLE)


def test_lists_of_structs_become_multiple_attributes() -> None:
    items = [[{"sku": "a", "parts": [{"name": "x"}], "sizes": [1]}], None]
    table = pa.table({"items": items, "deep": [[[{"n": 1.5}]], []]})
    schema = Schema.infer(table)
    assert {name: a.multiple for name, a in schema.attributes.items() if name != "event_type"} == {
        "items.sku": True, "items.parts.name": True, "items.sizes": True, "deep.n": True,
    }  # fmt: skip
    assert schema.attributes["items.sizes"].domain.kind == "integer"
    assert schema.check(table).violations.num_rows == 0


def test_two_columns_of_one_name_are_refused() -> None:
    table = pa.table({"a": [{"b": 1}], "a.b": [1]})
    with pytest.raises(SchemaError, match=r"attributes\['a.b'\]: two columns"):
        Schema.infer(table)


def test_parquet_files_and_folders_are_read(tmp_path: Path) -> None:
    for day in ("1", "2"):
        folder = tmp_path / f"day={day}"
        folder.mkdir()
        pyarrow.parquet.write_table(pa.table({"event_type": ["a" + day], "x": [1]}), folder / "part.parquet")
    schema = Schema.infer(tmp_path)
    assert list(schema.event_types) == ["a1", "a2"]
    assert kinds(schema) == {"x": "integer", "day": "integer"}
    assert list(Schema.infer(str(tmp_path / "day=1" / "part.parquet")).event_types) == ["a1"]


@pytest.mark.parametrize("source", ["missing", "empty", "text"])
def test_a_path_without_parquet_is_refused(source: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "text").write_text("hello")
    with pytest.raises(SchemaError, match="cannot read Parquet"):
        Schema.infer(tmp_path / source)


@pytest.mark.parametrize("source", [None, 3, {"a": 1}, [{"a": 1}]])
def test_other_things_are_refused(source: Any) -> None:
    with pytest.raises(SchemaError, match="cannot infer a schema from"):
        Schema.infer(source)


class Shape:
    """What `infer` looks at of a Spark DataFrame: its schema as JSON values."""

    def __init__(self, fields: list[dict[str, Any]]) -> None:
        self.schema = self
        self._fields = fields

    def jsonValue(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        return {"type": "struct", "fields": self._fields}


def test_spark_types_have_counterparts() -> None:
    types: dict[str, Any] = {
        "string": "string", "varchar(3)": "string", "string collate UNICODE": "string", "boolean": "boolean",
        "byte": "integer", "short": "integer", "integer": "integer", "long": "integer", "decimal(9,0)": "integer",
        "decimal(9,2)": "float", "float": "float", "double": "float", "date": "timestamp", "timestamp": "timestamp",
        "timestamp_ntz": "timestamp", "binary": "binary",
    }  # fmt: skip
    fields = [{"name": name, "type": name, "nullable": True} for name in types]
    unknown: list[Any] = ["variant", "interval day", {"type": "map", "keyType": "string"}]
    fields += [{"name": str(kind), "type": kind, "nullable": True} for kind in unknown]
    assert kinds(Schema.infer(Shape(fields), skip_unsupported=True)) == types
    with pytest.raises(SchemaError, match="variant"):
        Schema.infer(Shape(fields))


@pytest.mark.spark
def test_a_spark_frame_is_inferred_like_its_arrow_table(spark: SparkSession) -> None:
    frame = spark.sql(
        "SELECT 1 AS id, CAST(NULL AS DOUBLE) AS `two words`, array('a') AS tags, "
        "named_struct('rating', 1L) AS seller, array('furniture', 'antiques') AS event_type, "
        "TIMESTAMP '2024-05-01 10:00:00' AS at"
    )
    schema = Schema.infer(frame)
    assert kinds(schema) == {
        "id": "integer",
        "two words": "float",
        "tags": "string",
        "seller.rating": "integer",
        "at": "timestamp",
    }
    assert list(schema.event_types) == ["antiques", "furniture"]
    assert schema.check(frame.toArrow()).violations.num_rows == 0
