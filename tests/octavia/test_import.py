"""500 mixed load balancers move from a stock Octavia with its own provider to controllers, by ``evenkeel import``."""

import base64
import json
import stat
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from evenkeel.cli.client import API_PATH, Client
from evenkeel.cli.main import main
from evenkeel.core.status.provisioning import HELD_REASON
from tests import log_handlers
from tests.api.stack import PROVIDER as OURS
from tests.api.stack import Stack
from tests.api.subnet import SUBNET
from tests.key_managers.authority import INTERMEDIATE, LEAF
from tests.octavia.amphorae import PROVIDER, AmphoraOctavia
from tests.octavia.conftest import IN_OCTAVIA
from tests.octavia.mixed import DATAGRAMS, TLS_PROJECT, mixed
from tests.services import mariadb
from tests.services.installation import NotInstallable
from tests.services.mariadb import MariaDB
from tests.services.octavia import installed
from tests.waiting import until

pytestmark = IN_OCTAVIA

COUNT = 500
CREATORS = 4
LBAAS = "/v2.0/lbaas"
LISTS = ("loadbalancers", "listeners", "pools", "healthmonitors", "l7policies")
ITS_OWN = {"provisioning_status", "operating_status", "created_at", "updated_at"}
"""What each system says of its own work."""
CHOSEN = {("loadbalancers", "provider"), ("loadbalancers", "flavor_id")}
"""What the import replaces by ours."""
HAPROXYS = "soft"

Objects = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""Every object as an API shows it, by kind and id."""


class Source(NamedTuple):
    """A stock Octavia with :data:`COUNT` load balancers, all ACTIVE."""

    octavia: AmphoraOctavia
    certificate: str
    flavors: Mapping[str, str]
    """Ids by name."""


@pytest.fixture(scope="module")
def source() -> Iterator[Source]:
    """It runs until the module's end."""
    if reason := mariadb.missing():
        pytest.skip(reason)
    try:
        venv = installed()
    except NotInstallable as error:
        pytest.skip(str(error))
    database = MariaDB()
    octavia = None
    try:
        database.start()
        octavia = AmphoraOctavia(venv, database.create_database())
        octavia.start()
        yield filled(octavia)
    finally:
        if octavia is not None:
            octavia.close()
        database.close()


def filled(octavia: AmphoraOctavia) -> Source:
    profile = {"name": "p", "provider_name": PROVIDER, "flavor_data": '{"loadbalancer_topology": "SINGLE"}'}
    profile_id = asked(octavia, "/flavorprofiles", flavorprofile=profile)["id"]
    flavors = {
        name: asked(octavia, "/flavors", flavor={"name": name, "flavor_profile_id": profile_id})["id"]
        for name in ("big", "small")
    }
    # the reference that our key manager gives to what it is given under this name
    certificate = f"directory://{TLS_PROJECT}/www"

    def make(number: int) -> None:
        asked(octavia, "/loadbalancers", loadbalancer=mixed(number, flavors=flavors, certificate=certificate))

    with ThreadPoolExecutor(CREATORS) as pool:
        list(pool.map(make, range(COUNT)))
    octavia.settle(SUBNET.network_id)
    status, answer = octavia.request("PUT", "/quotas/p1", {"quota": {"loadbalancer": COUNT, "member": -1}})
    assert status == 202, answer
    return Source(octavia, certificate, flavors)


def asked(octavia: AmphoraOctavia, path: str, **body: Any) -> dict[str, Any]:
    status, answer = octavia.request("POST", path, body)
    assert status == 201, f"{body}: {status} {answer}"
    (made,) = answer.values()
    return dict(made)


class Controllers(NamedTuple):
    """Running ones."""

    url: str
    client: Client


@pytest.fixture
def ours(tmp_path: Path) -> Iterator[Controllers]:
    """Controllers with a no-op environment, one of HAProxys, our flavor ``big`` and the certificate."""
    key_file = tmp_path / "certificates.key"
    key_file.touch(mode=stat.S_IRUSR | stat.S_IWUSR)
    key_file.write_bytes(base64.b64encode(bytes(32)))
    options: dict[str, dict[str, object]] = {
        "DEFAULT": {"environments": f"{OURS}:noop,{HAPROXYS}:haproxy"},
        "certificates": {
            "key_manager": "directory",
            "directory": tmp_path / "kept",
            "directory_key_file": key_file,
        },
    }
    with Stack.started(tmp_path, options=options) as stack:
        client = Client([stack.url], timeout_seconds=60.0)
        pem, key = (LEAF.pem + INTERMEDIATE.pem).decode(), LEAF.key_pem().decode()
        new = {"project_id": TLS_PROJECT, "name": "www", "kind": "certificate", "pem": pem, "private_key": key}
        client.post(f"{API_PATH}/certificates", {"certificate": new})
        profile = {"name": "p", "provider_name": OURS, "flavor_data": "{}"}
        made = client.post(f"{LBAAS}/flavorprofiles", {"flavorprofile": profile})["flavorprofile"]
        client.post(f"{LBAAS}/flavors", {"flavor": {"name": "big", "flavor_profile_id": made["id"]}})
        yield Controllers(stack.url, client)


class Ran(NamedTuple):
    """What a run of the command has shown."""

    code: int
    shown: dict[str, Any]
    seconds: float

    @property
    def outcomes(self) -> dict[str, int]:
        """Number of load balancers by outcome."""
        return dict(self.shown["summary"]["outcomes"])


@pytest.fixture
def run(ours: Controllers, source: Source, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run ``evenkeel import octavia`` with these words."""

    def run_with(*words: str, environment: str = OURS) -> Ran:
        fixed = ("import", "octavia", "--environment", environment, "--source-url", source.octavia.url, "--json")
        began = time.monotonic()
        code = main(["--endpoint", ours.url, "--timeout", "60", *fixed, *words])
        seconds = time.monotonic() - began
        out, err = capsys.readouterr()
        log_handlers.remove()
        assert not err, err
        return Ran(code, json.loads(out), seconds)

    return run_with


def test_500_mixed_load_balancers_keep_every_attribute(
    source: Source, ours: Controllers, run: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    there = objects(Client([source.octavia.url], timeout_seconds=60.0))
    assert len(there["loadbalancers"]) == COUNT
    mapping = ("--flavor", "small=big", "--quotas")

    planned = run(*mapping)
    assert (planned.code, planned.outcomes) == (0, {"new": COUNT}), refusals(planned)
    assert objects(ours.client) == {kind: {} for kind in there}

    begun = run(*mapping, "--yes", "--project", "p2")
    imported = run(*mapping, "--yes")
    rest = COUNT - begun.outcomes["imported"]
    assert (imported.code, imported.outcomes) == (0, {"present": COUNT - rest, "imported": rest}), refusals(imported)
    here = objects(ours.client)
    table = compared(there, here)
    with capsys.disabled():
        print(f"\nplanned {COUNT} in {planned.seconds:.1f} s, imported {rest} in {imported.seconds:.1f} s")
        print("\n".join(table.lines()))
    assert {kind: set(rows) for kind, rows in here.items()} == {kind: set(rows) for kind, rows in there.items()}
    assert set(table.different) <= set(CHOSEN), table.examples
    assert {row["not_carried_over"] == [] for row in imported.shown["loadbalancers"]} == {True}
    assert ours.client.get(f"{LBAAS}/quotas/p1")["quota"]["loadbalancer"] == COUNT

    # the source keeps the traffic
    until(lambda: states(ours.client) == {("ACTIVE", "OFFLINE", HELD_REASON)})
    held = objects(ours.client)

    again = run(*mapping, "--yes")
    assert (again.code, again.outcomes) == (0, {"present": COUNT}), refusals(again)
    assert [row["outcome"] for row in again.shown["quotas"]] == ["present"]
    assert set(compared(held, objects(ours.client)).different) == set()


def test_feature_that_devices_lack_is_refused_with_the_reason_and_the_rest_imported(source: Source, run: Any) -> None:
    ran = run("--project", "p1", environment=HAPROXYS)
    outcomes = {row["name"].rpartition(" ")[2]: row for row in ran.shown["loadbalancers"]}
    refused = {kind for kind, row in outcomes.items() if row["outcome"] == "refused"}
    assert ran.code == 1 and refused & {protocol.lower() for protocol in DATAGRAMS} == {"sctp"}
    assert "SCTP" in str(outcomes["sctp"]["remarks"])
    assert outcomes["web"]["outcome"] == "new"
    lost = [(each["attribute"], each["reason"]) for each in outcomes["web"]["not_carried_over"]]
    assert all(name == "flavor_id" and "--flavor" in reason for name, reason in lost)


def test_load_balancer_that_is_being_changed_is_skipped_and_one_in_error_imported(source: Source, run: Any) -> None:
    octavia = source.octavia
    _, answer = octavia.request("GET", "/loadbalancers?project_id=p2")
    moving, broken, quiet = (row["id"] for row in answer["loadbalancers"][:3])
    octavia.set_statuses({moving: "PENDING_UPDATE", broken: "ERROR"})
    try:
        ran = run("--yes", *(word for id_ in (moving, broken, quiet) for word in ("--loadbalancer", id_)))
    finally:
        octavia.set_statuses({moving: "ACTIVE", broken: "ACTIVE"})
    rows = {row["id"]: row for row in ran.shown["loadbalancers"]}
    assert {id_: row["outcome"] for id_, row in rows.items()} == {
        moving: "skipped",
        broken: "imported",
        quiet: "imported",
    }
    assert "PENDING_UPDATE" in rows[moving]["remarks"][0] and "ERROR" in rows[broken]["remarks"][0]
    assert ran.code == 1
    assert run("--yes", "--loadbalancer", moving).outcomes == {"imported": 1}


def test_held_load_balancer_that_changes_at_the_source_is_brought_up_to_date(
    source: Source, ours: Controllers, run: Any
) -> None:
    octavia = source.octavia
    _, answer = octavia.request("GET", "/loadbalancers?project_id=p2")
    changing = answer["loadbalancers"][3]["id"]
    assert run("--yes", "--loadbalancer", changing).outcomes == {"imported": 1}
    status, answer = octavia.request("PUT", f"/loadbalancers/{changing}", {"loadbalancer": {"name": "another"}})
    assert status == 200, answer
    assert run("--yes", "--loadbalancer", changing).outcomes == {"skipped": 1}
    # as the worker does when the amphorae have the change
    octavia.set_statuses({changing: "ACTIVE"})
    assert run("--loadbalancer", changing).outcomes == {"outdated": 1}
    assert run("--yes", "--loadbalancer", changing).outcomes == {"updated": 1}
    assert ours.client.get(f"{LBAAS}/loadbalancers/{changing}")["loadbalancer"]["name"] == "another"
    assert run("--yes", "--loadbalancer", changing).outcomes == {"present": 1}


def refusals(ran: Ran) -> list[Any]:
    """Names and reasons of what was not imported."""
    return [(row["name"], row["remarks"]) for row in ran.shown["loadbalancers"] if row["remarks"]][:20]


def objects(client: Client) -> dict[str, dict[str, dict[str, Any]]]:
    """Read everything that the API has."""
    found = {kind: rows(client, f"/{kind}", kind) for kind in LISTS}
    members = [rows(client, f"/pools/{id_}/members", "members") for id_ in found["pools"]]
    rules = [rows(client, f"/l7policies/{id_}/rules", "rules") for id_ in found["l7policies"]]
    return {
        **found,
        "members": {id_: row for each in members for id_, row in each.items()},
        "rules": {id_: row for each in rules for id_, row in each.items()},
    }


def states(client: Client) -> set[tuple[str, str, str]]:
    """Statuses that load balancers have, with the reason."""
    names = ("provisioning_status", "operating_status", "status_reason")
    return {tuple(row[name] for name in names) for row in rows(client, "/loadbalancers", "loadbalancers").values()}


def rows(client: Client, path: str, key: str) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    while True:
        marker = {"marker": list(found)[-1]} if found else {}
        page = client.get(f"{LBAAS}{path}", {"limit": 200, **marker})[key]
        found |= {row["id"]: row for row in page}
        if len(page) < 200:
            return found


class Table(NamedTuple):
    """Objects with an attribute in both systems, by kind and attribute."""

    same: Counter[tuple[str, str]]
    different: Counter[tuple[str, str]]
    examples: dict[tuple[str, str], Any]

    def lines(self) -> Iterator[str]:
        """A line for each attribute."""
        yield f"{'attribute':<50}{'same':>8}{'different':>11}"
        for kind, name in sorted({*self.same, *self.different}):
            place = (kind, name)
            yield f"{f'{kind}.{name}':<50}{self.same[place]:>8}{self.different[place]:>11}"


def compared(there: Objects, here: Objects) -> Table:
    """Compare every attribute that the first shows of every object that both have."""
    table = Table(Counter(), Counter(), {})
    for kind, found in there.items():
        for id_ in found.keys() & here[kind].keys():
            for name in found[id_].keys() - ITS_OWN:
                before, after = normal(found[id_][name]), normal(here[kind][id_].get(name))
                (table.same if before == after else table.different)[kind, name] += 1
                if before != after:
                    table.examples[kind, name] = (before, after)
    return table


def normal(value: Any) -> Any:
    """Lists of references have no order; what depends on an order has a ``position``."""
    if isinstance(value, list) and all(isinstance(each, dict) for each in value):
        return sorted(value, key=lambda each: str(sorted(each.items())))
    return value
