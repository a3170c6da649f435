"""What is true of single attributes: nothing in the tables is misspelt, and nothing is in two of them."""

from typing import Any

import msgspec
import pytest
from msgspec import inspect

from evenkeel.core.devices import service
from evenkeel.core.kit.values import Value, flatten_struct_fields
from evenkeel.core.resources import model
from evenkeel.core.resources.attributes import (
    CHANGEABLE_ATTRIBUTES,
    HIDDEN_ATTRIBUTES,
    LINK_ATTRIBUTES,
    attribute_shape,
    defaults_of,
    fields_of,
)
from evenkeel.core.resources.model import HealthMonitor, L7Policy, L7Rule, Listener, LoadBalancer, Member, Pool

KINDS = (LoadBalancer, Listener, Pool, Member, HealthMonitor, L7Policy, L7Rule)
SENT: list[tuple[Any, Any, Any]] = [
    (model.ListenerSpec, Listener, service.ServiceListener),
    (model.PoolSpec, Pool, service.ServicePool),
    (model.MemberSpec, Member, service.ServiceMember),
    (model.HealthMonitorSpec, HealthMonitor, service.ServiceMonitor),
    (model.L7PolicySpec, L7Policy, service.ServiceL7Policy),
    (model.L7RuleSpec, L7Rule, service.ServiceL7Rule),
]


@pytest.mark.parametrize("kind", KINDS)
def test_the_tables_name_attributes_of_the_class(kind: type[Any]) -> None:
    names = set(fields_of(kind))

    for named in (CHANGEABLE_ATTRIBUTES[kind], HIDDEN_ATTRIBUTES[kind], set(LINK_ATTRIBUTES[kind])):
        assert set(named) <= names


@pytest.mark.parametrize("kind", KINDS)
def test_changeable_attribute_is_visible_and_no_link(kind: type[Any]) -> None:
    assert not CHANGEABLE_ATTRIBUTES[kind] & HIDDEN_ATTRIBUTES[kind]
    assert not CHANGEABLE_ATTRIBUTES[kind] & set(LINK_ATTRIBUTES[kind])


@pytest.mark.parametrize("kind", KINDS)
def test_links_are_the_last_attributes(kind: type[Any]) -> None:
    links = LINK_ATTRIBUTES[kind]

    assert kind.__struct_fields__[len(kind.__struct_fields__) - len(links) :] == links
    assert set(links) <= set(defaults_of(kind))


@pytest.mark.parametrize(("spec", "kind", "sent"), SENT)
def test_a_device_gets_the_attributes_as_they_are_kept(spec: Any, kind: Any, sent: Any) -> None:
    declared = {name: (field.type, field.required) for name, field in fields_of(spec).items()}

    for cls in (kind, sent):
        assert {name: (fields_of(cls)[name].type, fields_of(cls)[name].required) for name in declared} == declared
        assert defaults_of(spec).items() <= defaults_of(cls).items()
    assert sent.__struct_fields__[: len(declared)] == tuple(declared), "definitions are built by position"


def test_shapes() -> None:
    class Some(msgspec.Struct):
        sure: int
        unsure: tuple[str, ...] | None

    sure, unsure = (attribute_shape(field.type) for field in msgspec.structs.fields(Some))

    assert (sure.node, sure.optional) == (inspect.IntType(), False)
    assert isinstance(unsure.node, inspect.VarTupleType)
    assert unsure.optional


def test_a_flat_class_takes_its_attributes_by_position_those_without_a_default_first() -> None:
    class Base(msgspec.Struct, frozen=True, kw_only=True):
        name: str
        marks: dict[str, str] = {}

    @flatten_struct_fields
    class Both(Value, Base, kw_only=True):
        """Words."""

        number: int
        size: int = 3

    make: Any = Both

    assert Both.__struct_fields__ == ("name", "number", "marks", "size")
    assert make("a", 1) == Both(name="a", number=1, marks={}, size=3)
    assert make("a", 1).marks is not make("a", 1).marks
    assert Both.__doc__ == "Words."
    assert (Both.__name__, Both.__module__) == ("Both", __name__)
    with pytest.raises(msgspec.ValidationError, match="unknown field"):
        msgspec.json.decode(b'{"name":"a","number":1,"other":1}', type=Both)
