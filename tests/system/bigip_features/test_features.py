"""For each feature: made through the API, looked at with clients that nobody here wrote, used by clients, removed.

In real time: clients of others in a process of their own, and traffic through the kernel's sockets.
"""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
import pytest_asyncio

from evenkeel.core.devices.capabilities import LISTENER_DEFAULTS, MEMBER_DEFAULTS, PERSISTENCE_DEFAULTS, POOL_DEFAULTS
from evenkeel.core.resources.model import L7RuleCompareType
from evenkeel.devices.bigip.capabilities import CAPABILITIES
from tests.services.icontrol_clients import clients
from tests.services.installation import NotInstallable
from tests.system.bigip_features import l7, services, tls
from tests.system.bigip_features.actors import Body, Feature, Scene, actors
from tests.system.bigip_features.matching import difference
from tests.system.bigip_features.place import Made, Place, feature_place

pytestmark = pytest.mark.real_time
SET_BY_OPERATORS = {"listener.operator_irules": Path(__file__).parents[1] / "test_kept_irules.py"}
"""Options that no tenant's request can have, with the test through controllers and agents that they have instead."""
FEATURES: dict[str, Feature] = services.FEATURES | tls.FEATURES | l7.FEATURES


@pytest.fixture(scope="module")
def installed() -> tuple[Path, Path]:
    try:
        return clients()
    except NotInstallable as error:
        pytest.skip(str(error))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def place(tmp_path_factory: pytest.TempPathFactory, installed: tuple[Path, Path]) -> AsyncIterator[Place]:
    async with feature_place(tmp_path_factory.mktemp("features"), installed) as made:
        yield made


def named(made: Made, wanted: dict[str, Any]) -> dict[str, Any]:
    """What is wanted, by the names on the device."""
    return {
        kind: {name if "{" not in name else made.name(name): attributes for name, attributes in objects.items()}
        for kind, objects in wanted.items()
    }


def agreement(seen: dict[str, Any]) -> None:
    """All clients see the same virtual servers and pools."""
    sdk, bigrest, ansible = seen["sdk"], seen["bigrest"], seen["ansible"]
    assert not ansible["msg"]
    assert set(sdk["ltm/virtual"]) == set(bigrest["ltm/virtual"]) == set(ansible["virtual_servers"])
    assert set(sdk["ltm/pool"]) == set(bigrest["ltm/pool"]) == set(ansible["ltm_pools"])
    for name, told in ansible["virtual_servers"].items():
        one = sdk["ltm/virtual"][name]
        assert {each["name"] for each in told["profiles"]} == {each["name"] for each in one["profiles"]}
        assert (told["connection_limit"], told["snat_type"]) == (one["connectionLimit"], "automap")
        assert told["enabled"] == ("yes" if one.get("enabled") else "no")
    for name, told in ansible["ltm_pools"].items():
        one = sdk["ltm/pool"][name]
        assert (told["lb_method"], len(told.get("members") or ())) == (one["loadBalancingMode"], len(one["members"]))


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", FEATURES)
async def test_feature(place: Place, tmp_path: Path, name: str) -> None:
    feature = FEATURES[name]
    async with actors(tmp_path, place.references) as around:
        made = await place.make(feature.body(around))
        try:
            seen = await place.seen()
            agreement(seen)
            assert not (problems := difference(named(made, feature.shows), seen["sdk"])), "\n".join(problems)
            await feature.works(Scene(place, made, around))
        finally:
            await place.remove(made)


# -- is there a feature for each value that a BIG-IP can have?


def objects(body: Any, kind: str) -> Iterator[Body]:
    """All objects of a kind in bodies, by the names of the attributes that hold them."""
    if isinstance(body, list):
        for one in body:
            yield from objects(one, kind)
    if isinstance(body, dict):
        for name, value in body.items():
            if name in KINDS[kind]:
                yield from value if isinstance(value, list) else (value,)
            yield from objects(value, kind)


KINDS = {
    "listener": ("listeners",),
    "pool": ("default_pool", "redirect_pool"),
    "member": ("members",),
    "monitor": ("healthmonitor",),
    "policy": ("l7policies",),
    "rule": ("rules",),
    "session_persistence": ("session_persistence",),
}
DEFAULTS = {
    "listener": LISTENER_DEFAULTS,
    "pool": POOL_DEFAULTS,
    "session_persistence": PERSISTENCE_DEFAULTS,
    "member": MEMBER_DEFAULTS,
}


@pytest.fixture
async def bodies(tmp_path: Path) -> list[Body]:
    references = dict.fromkeys(("www", "shop", "balancer", "root", "revoked"), "reference")
    async with actors(tmp_path, references) as around:
        return [feature.body(around) for feature in FEATURES.values()]


def used(bodies: list[Body], kind: str, attribute: str) -> set[Any]:
    return {one[attribute] for one in objects(bodies, kind) if one.get(attribute) is not None}


async def test_there_is_a_feature_for_each_capability(bodies: list[Body]) -> None:
    table = CAPABILITIES
    pairs = {(one["protocol"], one["default_pool"]["protocol"]) for one in objects(bodies, "listener")}
    assert pairs >= {(protocol, each) for protocol, pools in table.protocol_pairs.items() for each in pools}
    assert used(bodies, "pool", "lb_algorithm") >= {*table.lb_algorithms}
    assert used(bodies, "session_persistence", "type") >= {*table.session_persistence}
    assert used(bodies, "monitor", "type") >= {*table.health_monitor_types}
    assert used(bodies, "policy", "action") >= {*table.l7policy_actions}
    assert used(bodies, "rule", "type") >= {*table.l7rule_types}
    assert used(bodies, "rule", "compare_type") >= {*get_args(L7RuleCompareType)}
    headers = {name for one in objects(bodies, "listener") for name in one.get("insert_headers", ())}
    assert headers >= {*table.insert_headers}
    versions = {name for one in objects(bodies, "listener") for name in one.get("tls_versions", ())}
    assert versions >= {*table.tls_versions}


async def test_there_is_a_feature_for_each_option(bodies: list[Body]) -> None:
    given = {
        f"{kind}.{name}"
        for kind, defaults in DEFAULTS.items()
        for one in objects(bodies, kind)
        for name, value in one.items()
        if name in defaults and value != defaults[name]
    }
    given |= {f"loadbalancer.{name}" for body in bodies for name in body}
    assert given >= {*CAPABILITIES.options} - SET_BY_OPERATORS.keys()
    assert all(test.is_file() for test in SET_BY_OPERATORS.values())
