from typing import Any, Literal

import pytest
from sqlalchemy import Column, Integer, String
from sqlalchemy.schema import CreateColumn

from evenkeel.core.kit.values import Value
from evenkeel.core.resources.attributes import LINK_ATTRIBUTES
from evenkeel.core.resources.model import SessionPersistence
from evenkeel.store.records.columns import columns_for


class Thing(Value):
    """One attribute of each type."""

    name: str
    number: int = -1
    share: float = 0.5
    up: bool = True
    quiet: bool = False
    mode: Literal["a", "b"] = "a"
    owner_id: str | None = None
    note: str | None = None
    most: int | None = None
    tags: tuple[str, ...] = ()
    headers: dict[str, str] = {}
    persistence: SessionPersistence | None = None
    kept_elsewhere: int = 0
    part_ids: tuple[str, ...] = ()


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LINK_ATTRIBUTES, Thing, ("part_ids",))


def ddl(column: Column[Any]) -> str:
    """The column as SQLite is told."""
    return " ".join(str(CreateColumn(column)).split())


def test_columns_follow_from_types_and_defaults() -> None:
    name = Column("name", String(64), nullable=False, unique=True)
    columns = columns_for(Thing, name, excluded=("kept_elsewhere",))

    assert columns[0] is name
    assert [ddl(column) for column in columns] == [
        "name VARCHAR(64) NOT NULL",
        "number INTEGER DEFAULT '-1' NOT NULL",
        "share DOUBLE DEFAULT '0.5' NOT NULL",
        "up BOOLEAN DEFAULT true NOT NULL",
        "quiet BOOLEAN DEFAULT false NOT NULL",
        "mode VARCHAR(16) DEFAULT 'a' NOT NULL",
        "owner_id VARCHAR(36)",
        "note VARCHAR(255)",
        "most INTEGER",
        "tags TEXT DEFAULT '[]' NOT NULL",
        "headers TEXT DEFAULT '{}' NOT NULL",
        "persistence TEXT",
    ]


def test_a_given_column_stands_instead_of_the_one_that_would_follow() -> None:
    number = Column("number", Integer, index=True)
    columns = columns_for(Thing, Column("name", String(8)), number)

    assert [column for column in columns if column.name == "number"] == [number]


def test_an_attribute_without_a_default_needs_its_column() -> None:
    with pytest.raises(LookupError, match="name"):
        columns_for(Thing)
