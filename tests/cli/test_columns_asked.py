"""Columns that ``-c`` asks for: by their names or their titles; others are refused with what there is."""

import pytest

from evenkeel.cli.base import resolve_columns
from evenkeel.cli.client import UsageError

NAMES = ("host", "home_shards", "state")


def test_a_column_is_found_by_its_name_and_by_its_title() -> None:
    assert resolve_columns(["state", "at home"], NAMES, {"home_shards": "at home"}) == ["state", "home_shards"]


def test_an_unknown_column_is_refused_with_those_like_it_and_all() -> None:
    with pytest.raises(UsageError, match="-c hosts: there is no such column; did you mean host\\?; there are: host, "):
        resolve_columns(["hosts"], NAMES)
