"""The operators' routes for references: what was read of them, what expires, and having them read again."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import msgspec
import pytest
from sqlalchemy import insert, select

from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.tls.certificates import CertificateFacts, CertificateKind
from evenkeel.store.engine.clock import db_now
from evenkeel.store.records import schema
from evenkeel.store.sql_store import SqlStore
from evenkeel.store.writing.certificates import certificate_id
from tests.api.client import Client

BASE = "/evenkeel/v1"


class Scene:
    """Load balancers that refer to certificates, as they are stored."""

    def __init__(self, api: Client, store: SqlStore) -> None:
        self.api = api
        self.store = store
        self.load_balancer_id = ""

    async def refer(self, reference: str, *, days: float | None = 400.0, problem: str = "", **use: Any) -> None:
        if not self.load_balancer_id:
            self.load_balancer_id = (await self.api.load_balancer(project_id="p1"))["id"]
        now = datetime.now(UTC)
        facts = CertificateFacts(
            subject="CN=www",
            issuer="CN=ca",
            common_name="www",
            dns_names=("www.example.org",),
            addresses=(),
            not_before=now,
            not_after=now + timedelta(days=days or 0),
            key_type="ecdsa",
            key_bits=256,
        )
        kind = CertificateKind.REVOCATION_LIST if days is None else CertificateKind.CERTIFICATE
        row = {
            "id": certificate_id(ProjectId("p1"), reference, kind),
            "project_id": "p1",
            "reference": reference,
            "kind": kind.value,
            "sha256": "a" * 64,
            "announced_sha256": "a" * 64,
            "facts": None if days is None else msgspec.json.encode(facts).decode(),
            "not_after": None if days is None else facts.not_after.timestamp(),
            "problem": problem,
            "checked_at": db_now(),
            "next_check_at": db_now() + 1000.0,
        }
        used = {"owner_id": reference, "certificate_id": row["id"], "load_balancer_id": self.load_balancer_id} | use
        await self.store.database.write(lambda c: c.execute(insert(schema.certificate).values(**row)))
        if used["owner_id"]:
            await self.store.database.write(lambda c: c.execute(insert(schema.certificate_use).values(**used)))

    async def listed(self, query: str = "") -> list[str]:
        rows = (await self.api.get(f"{BASE}/references{query}"))["references"]
        return [row["reference"] for row in rows]

    async def due(self) -> list[str]:
        statement = select(schema.certificate.c.reference).where(schema.certificate.c.next_check_at <= db_now())
        found = await self.store.database.query(lambda connection: list(connection.scalars(statement)))
        return sorted(found)

    async def problems(self) -> list[str]:
        return [problem["text"] for problem in (await self.api.get(f"{BASE}/status"))["status"]["problems"]]

    async def commands(self) -> list[list[tuple[str, str]]]:
        """Of each problem, with their conditions."""
        problems = (await self.api.get(f"{BASE}/status"))["status"]["problems"]
        return [[(each["command"], each["condition"]) for each in problem["commands"]] for problem in problems]

    async def reason(self) -> str:
        shown = await self.api.get(f"{BASE}/loadbalancers/{self.load_balancer_id}/agent")
        reason: str = shown["hosting"]["operating_reason"]
        return reason


@pytest.fixture
def scene(api: Client, store: SqlStore) -> Scene:
    return Scene(api, store)


async def test_references_are_listed_those_that_expire_first_first(scene: Scene) -> None:
    await scene.refer("late")
    await scene.refer("soon", days=5.0, problem="gone")
    await scene.refer("list", days=None)
    await scene.refer("unused", owner_id="")
    assert await scene.listed() == ["soon", "late", "list"]
    assert await scene.listed("?expiring_days=30") == ["soon"]
    assert await scene.listed("?unreadable=true") == ["soon"]
    assert await scene.listed("?project_id=p2") == []
    assert await scene.listed(f"?load_balancer_id={scene.load_balancer_id}") == ["soon", "late", "list"]
    assert await scene.listed(f"?load_balancer_id={uuid4()}") == []
    soon, _, without = (await scene.api.get(f"{BASE}/references"))["references"]
    assert soon.pop("checked_at") and soon.pop("not_after")
    assert soon == {
        "reference": "soon",
        "project_id": "p1",
        "kind": "certificate",
        "sha256": "a" * 64,
        "problem": "gone",
        "load_balancers": 1,
        "subject": "CN=www",
        "dns_names": ["www.example.org"],
    }
    assert (without["kind"], without["not_after"]) == ("revocation_list", None)


@pytest.mark.parametrize("query", ["?expiring_days=-1", "?expiring_days=soon", "?unreadable=perhaps", "?days=1"])
async def test_invalid_query_of_references_is_refused(scene: Scene, query: str) -> None:
    assert (await scene.api.http.get(f"{BASE}/references{query}")).status_code == 400


async def test_references_are_read_again_when_requested(scene: Scene) -> None:
    await scene.refer("one")
    await scene.refer("other")
    await scene.refer("unused", owner_id="")
    answer = await scene.api.http.post(f"{BASE}/references/refresh", json={"refresh": {"reference": "one"}})
    assert (answer.status_code, answer.json()) == (202, {"refresh": {"references": 1}})
    assert await scene.due() == ["one"]
    answer = await scene.api.http.post(f"{BASE}/references/refresh", json={"refresh": {}})
    assert answer.json() == {"refresh": {"references": 2}}
    assert await scene.due() == ["one", "other"]
    gone = await scene.api.http.post(f"{BASE}/references/refresh", json={"refresh": {"reference": "unused"}})
    assert gone.status_code == 404


async def test_the_status_names_what_expires_and_what_cannot_be_read(scene: Scene) -> None:
    await scene.refer("late")
    assert await scene.problems() == []
    await scene.refer("in-20-days", days=20.0)
    assert await scene.problems() == []
    for number in range(4):
        await scene.refer(f"soon-{number}", days=number - 1.0)
    await scene.refer("gone", problem="Could not retrieve certificate")
    assert await scene.problems() == [
        "4 certificates in use are expired or about to expire: soon-0, soon-1, soon-2 and more",
        "1 certificate in use is not readable in the key manager: gone",
    ]
    expiring, unreadable = await scene.commands()
    assert expiring[:2] == [
        ("evenkeel certificate list --expiring 7", ""),
        ("evenkeel certificate refresh soon-0", "once it is renewed in the key manager"),
    ]
    assert unreadable == [
        ("evenkeel certificate list --unreadable", ""),
        ("evenkeel certificate refresh gone", "once the cause is fixed"),
    ]
    problems = (await scene.api.get(f"{BASE}/status"))["status"]["problems"]
    named = [(each["kind"], each["id"]) for problem in problems for each in problem["objects"]]
    assert named == [("certificates", "expiring_days=7"), ("certificates", "unreadable=true")]


async def test_a_load_balancer_states_which_of_its_certificates_expires(scene: Scene) -> None:
    await scene.refer("late")
    assert await scene.reason() == ""
    await scene.refer("soon", days=20.0)
    assert (await scene.reason()).startswith("certificate soon expires: valid until ")
    await scene.refer("ended", days=-1.0)
    reason = await scene.reason()
    assert reason.startswith("certificate ended has expired: valid until ") and reason.endswith(", and 1 more")


async def test_a_load_balancer_whose_certificate_cannot_be_read_is_explained_with_a_command(scene: Scene) -> None:
    await scene.refer("soon", days=20.0)
    await scene.refer("https://barbican/a;b", problem="404: no such secret")
    hosting = (await scene.api.get(f"{BASE}/loadbalancers/{scene.load_balancer_id}/agent"))["hosting"]
    told = (
        "certificate https://barbican/a;b cannot be read from the key manager: 404: no such secret;"
        " devices keep the last content read"
    )
    assert hosting["operating_reason"] == told
    # tenants choose references: quoted for the shell
    assert hosting["remedy"].endswith("evenkeel certificate refresh 'https://barbican/a;b'")


async def test_remedies_of_certificates_list_those_that_the_problem_counts(scene: Scene) -> None:
    await scene.refer("soon", days=1.0)
    await scene.refer("gone", problem="Could not retrieve certificate")
    problems = (await scene.api.get(f"{BASE}/status"))["status"]["problems"]
    assert [problem["remedy"] for problem in problems] == [
        "evenkeel certificate list --expiring 7",
        "evenkeel certificate list --unreadable",
    ]
