"""Chains of requests made from the OpenAPI document: what one answers, later ones ask about, change and delete.

schemathesis finds from the document which answers lead to which paths; here ids in bodies come from earlier answers.

``EVENKEEL_TEST_STATEFUL_EXAMPLES`` sets how many chains the long test makes.
"""

import contextlib
import copy
import itertools
import os
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import requests
from hypothesis import HealthCheck, Phase, settings

from tests.api import bodies
from tests.api.common.test_openapi import DOCUMENT, schema_of
from tests.api.live import LiveServer

if TYPE_CHECKING:
    from schemathesis import Case

EXAMPLES = int(os.environ.get("EVENKEEL_TEST_STATEFUL_EXAMPLES", "4"))
FEW_EXAMPLES = 2
STEPS = 25
KINDS = {
    "loadbalancers": ("loadbalancer", ("loadbalancer_id",)),
    "listeners": ("listener", ("listener_id",)),
    "pools": ("pool", ("pool_id", "default_pool_id", "redirect_pool_id")),
    "members": ("member", ()),
    "healthmonitors": ("healthmonitor", ()),
    "l7policies": ("l7policy", ("l7policy_id",)),
    "rules": ("rule", ()),
    "flavors": ("flavor", ("flavor_id",)),
    "flavorprofiles": ("flavorprofile", ("flavor_profile_id",)),
    "availabilityzones": ("availability_zone", ("availability_zone",)),
    "availabilityzoneprofiles": ("availability_zone_profile", ("availability_zone_profile_id",)),
    "quotas": ("quota", ()),
}
"""By segment of a path: what wraps one of them in answers, and attributes and parameters that name one."""
GIVEN = {"flavor_data": "{}", "availability_zone_data": "{}"}
GIVEN |= {"vip_subnet_id": bodies.SUBNET_ID, "provider_name": "dev", "provider": "dev"}
ELSEWHERE = {"project_id", "tenant_id", "vip_network_id", "vip_port_id", "subnet_id"}
"""Attributes that mostly contradict the others."""


def first_objects() -> Iterator[tuple[str, Any]]:
    """What there is at first: path below the API, and body with the names of attributes to fill in."""
    data = {"provider_name": "dev", "name": "first"}
    yield "flavorprofiles", {"flavorprofile": {**data, "flavor_data": "{}"}}
    yield "flavors", {"flavor": {"name": "first", "flavor_profile_id": ""}}
    yield "availabilityzoneprofiles", {"availability_zone_profile": {**data, "availability_zone_data": "{}"}}
    yield "availabilityzones", {"availability_zone": {"name": "first", "availability_zone_profile_id": ""}}
    yield "loadbalancers", bodies.load_balancer()
    yield "listeners", {"listener": {"loadbalancer_id": "", "protocol": "HTTP", "protocol_port": 80}}
    yield "pools", {"pool": {"loadbalancer_id": "", "protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN"}}
    yield "pools/{pool_id}/members", {"member": {"address": "10.20.0.1", "protocol_port": 80}}
    yield "l7policies", {"l7policy": {"listener_id": "", "action": "REJECT"}}
    yield "l7policies/{l7policy_id}/rules", {"rule": {"type": "PATH", "compare_type": "EQUAL_TO", "value": "/"}}


class Memory:
    """The newest object of each kind that answers told of."""

    def __init__(self) -> None:
        self._newest: dict[str, str] = {"quotas": "first"}
        self._known = {"first"}

    def learn(self, path: str, shown: Any) -> None:
        """An object was made."""
        segment = path.rstrip("/").rsplit("/", 1)[-1]
        wrapper, _ = KINDS.get(segment, ("", ()))
        if isinstance(inner := shown.get(wrapper), dict):
            self._newest[segment] = inner["name"] if segment == "availabilityzones" else inner["id"]
            self._known.add(self._newest[segment])

    def fill(self, body: Any) -> Any:
        """Let a body speak of what there is."""
        named = {name: self._newest.get(segment, "") for segment, (_, names) in KINDS.items() for name in names}
        for inner in body.values() if isinstance(body, dict) else ():
            if isinstance(inner, dict):
                for name in inner.keys() & ELSEWHERE:
                    del inner[name]
                inner |= {name: value for name, value in (named | GIVEN).items() if name in inner}
        return body

    def place(self, path: str, parameters: dict[str, Any]) -> None:
        """Let a path speak of what there is, unless it does."""
        segments = path.split("/")
        for before, at in itertools.pairwise(segments):
            name = at.strip("{}")
            if name != at and before in self._newest and parameters.get(name) not in self._known:
                parameters[name] = self._newest[before]


def linked(document: Any) -> Any:
    """The document, which also says that an availability zone is known by its name: nobody could find that out."""
    paths = copy.deepcopy(document["paths"])
    collection, one = paths["/v2/lbaas/availabilityzones"], paths["/v2/lbaas/availabilityzones/{id}"]
    collection["post"]["responses"]["201"]["links"] = {
        method: {
            "operationId": operation["operationId"],
            "parameters": {"id": "$response.body#/availability_zone/name"},
        }
        for method, operation in one.items()
    }
    return {**document, "paths": paths}


_WITHIN_OTHERS = ("members", "rules", "healthmonitors", "flavors", "flavorprofiles")
PARTS = {
    **{kind: f"/v2/lbaas/{kind}" for kind in KINDS if kind not in _WITHIN_OTHERS},
    "flavors and their profiles": "/v2/lbaas/flavor",
    "pools and their monitors": "/v2/lbaas/(pools|healthmonitors)",
    "listeners and pools": "/v2/lbaas/(listeners|pools)",
    "operators": "/evenkeel/",
    "LBaaS in Neutron's style": "/neutron/",
}
"""Parts of the document, so that chains stay within what belongs together."""


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("part", PARTS)
def test_chains_of_requests_keep_to_the_document(tmp_path: Path, part: str) -> None:
    chains_keep_to_the_document(tmp_path, part, FEW_EXAMPLES)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("part", PARTS)
def test_more_chains_of_requests_keep_to_the_document(tmp_path: Path, part: str) -> None:
    chains_keep_to_the_document(tmp_path, part, EXAMPLES)


def chains_keep_to_the_document(tmp_path: Path, part: str, examples: int) -> None:
    good: Counter[str] = Counter()
    chosen = schema_of(linked(DOCUMENT)).include(path_regex=f"^{PARTS[part]}")

    class Machine(chosen.as_state_machine()):  # type: ignore[misc]
        """Each chain has a server of its own, so that the same chain gets the same answers again."""

        def setup(self) -> None:
            self._left = contextlib.ExitStack()
            self._live = self._left.enter_context(LiveServer.started(Path(tempfile.mkdtemp(dir=tmp_path))))
            self._session = self._left.enter_context(requests.Session())
            self._memory = Memory()
            for path, body in first_objects():
                parameters: dict[str, Any] = {}
                self._memory.place(path, parameters)
                url = f"{self._live.url}/v2/lbaas/{path.format_map(parameters)}"
                answer = self._session.post(url, json=self._memory.fill(body))
                assert answer.status_code == 201, answer.text
                self._memory.learn(path, answer.json())

        def teardown(self) -> None:
            self._left.close()

        def before_call(self, case: "Case") -> None:
            if case.meta is None or not case.meta.generation.mode.is_negative:
                self._memory.fill(case.body)
                self._memory.place(case.operation.path, case.path_parameters)

        def get_call_kwargs(self, case: "Case") -> dict[str, Any]:
            return {"base_url": self._live.url, "session": self._session}

        def after_call(self, response: Any, case: "Case") -> None:
            if 200 <= response.status_code < 300:
                good[case.operation.label] += 1
            if response.status_code == 201:
                self._memory.learn(case.operation.path, response.json())

    Machine.run(
        settings=settings(
            max_examples=examples,
            stateful_step_count=STEPS,
            deadline=None,
            derandomize=True,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
    )
    print("\n".join(f"{count:5} {label}" for label, count in sorted(good.items())))
    assert good
