"""Tags are found exactly, whatever they hold."""

import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evenkeel.core.control.lists import ListQuery, TagFilter
from evenkeel.core.kit.errors import Invalid
from evenkeel.core.resources.model import LoadBalancer
from evenkeel.store.records import tag_filter
from evenkeel.store.sql_store import SqlStore
from tests.store.builders import bare, create, next_moment
from tests.store.plans import plan_of

TAGS: list[tuple[str, ...]] = [
    ("a", "b"),
    ("b",),
    (),
    ("A", "é"),
    ('x"a"', "[", "x\\"),
    ('y,"b"', "]"),
    ("a b",),
]


async def found(store: SqlStore, **wanted: Any) -> list[tuple[str, ...]]:
    return [row.tags for row in (await store.tenants.list(LoadBalancer, ListQuery(tags=TagFilter(**wanted)))).items]


@pytest.mark.parametrize(
    ("wanted", "indices"),
    [
        ({"every": ("a", "b")}, [0]),
        ({"every": ("b",)}, [0, 1]),
        ({"some": ("a", "é")}, [0, 3]),
        ({"not_every": ("a", "b")}, [1, 2, 3, 4, 5, 6]),
        ({"none": ("a", "b")}, [2, 3, 4, 5, 6]),
        ({"every": ("b",), "none": ("a",)}, [1]),
        ({"every": ('x"a"',)}, [4]),
        ({"every": ("x\\",)}, [4]),
        ({"some": ("[", "]")}, [4, 5]),
        ({"every": ("%",)}, []),
        ({"every": ("a b",)}, [6]),
        ({}, [0, 1, 2, 3, 4, 5, 6]),
    ],
)
async def test_tags_select(store: SqlStore, wanted: dict[str, Any], indices: list[int]) -> None:
    for tags in TAGS:
        await create(store, bare(tags=tags))
        await next_moment(store)

    # settled: all were created; the moments only part them
    assert await found(store, **wanted) == [TAGS[index] for index in indices]


@pytest.mark.parametrize("few", [0, 2, 5_000])
async def test_tags_that_many_have_and_those_that_few_have_select_alike(
    store: SqlStore, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    monkeypatch.setattr(tag_filter, "RARE_TAG_MAX", few)
    for tags in (("a", "b"), ("a",), ("a", "c"), ("a", "b", "c"), ()):
        await create(store, bare(tags=tags))
        await next_moment(store)  # settled: all were created; the moments only part them

    assert await found(store, every=("a", "b")) == [("a", "b"), ("a", "b", "c")]
    assert await found(store, every=("a",), some=("b", "c"), none=("z",)) == [("a", "b"), ("a", "c"), ("a", "b", "c")]
    assert await found(store, every=("a",), not_every=("b", "c")) == [("a", "b"), ("a",), ("a", "c")]
    assert await found(store, every=("a",), some=("z",)) == await found(store, every=("z",)) == []


@pytest.mark.parametrize("wanted", [{"every": ("a", "b")}, {"some": ("a", "b")}])
async def test_rare_tag_is_found_by_an_index(store: SqlStore, wanted: dict[str, Any]) -> None:
    for tags in (("a", "b"), ("b",), ()):
        await create(store, bare(tags=tags))

    plan = await plan_of(store, lambda: found(store, **wanted))

    assert re.search("pk_load_balancer_tag|sqlite_autoindex_load_balancer_tag_1|load_balancer_tag.*PRIMARY", plan), plan


async def test_half_a_character_is_invalid(store: SqlStore) -> None:
    with pytest.raises(Invalid, match="tags"):
        await found(store, every=("\ud800",))


texts = st.text(st.characters(exclude_characters="\0,", exclude_categories=("Cs",)), min_size=1, max_size=4)
awkward = st.text(st.sampled_from('a"\\[]{:/'), min_size=1, max_size=4)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tags=st.lists(texts | awkward, max_size=3, unique=True), asked=texts | awkward)
async def test_exactly_those_that_have_it_are_found(store: SqlStore, tags: list[str], asked: str) -> None:
    row = (await create(store, bare(tags=tuple(tags)))).load_balancer

    has = ListQuery(tags=TagFilter(every=(asked,)), filters={"id": (row.id,)})
    assert [item.id for item in (await store.tenants.list(LoadBalancer, has)).items] == (
        [row.id] if asked in tags else []
    )
