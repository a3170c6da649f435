"""The rate limit per project."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.api.app import create_app
from evenkeel.api.http.rate_limit import MAX_PROJECTS, RateLimit
from evenkeel.api.identity.headers import TrustedHeaders
from evenkeel.api.responses.errors import Refusal
from evenkeel.core.ports import Store
from evenkeel.network.builtin import BuiltinNetwork
from tests.api.client import Client, Sink
from tests.api.personas import ADMIN, MEMBER, READER, STRANGER


class Time:
    """Moved by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def taken(limit: RateLimit, project_id: str = "p") -> bool:
    try:
        limit.count_request(project_id)
    except Refusal:
        return False
    return True


def test_a_burst_is_let_through_and_then_so_many_a_second() -> None:
    time = Time()
    limit = RateLimit(2.0, 5, monotonic=time)
    assert [taken(limit) for _ in range(7)] == [True] * 5 + [False] * 2
    time.now += 1.0
    assert [taken(limit) for _ in range(3)] == [True, True, False]
    assert taken(limit, "another project")


def test_the_refusal_states_when_to_come_back() -> None:
    limit = RateLimit(0.25, 1, monotonic=Time())
    limit.count_request("p")
    with pytest.raises(Refusal) as caught:
        limit.count_request("p")
    assert caught.value.status == 429 and caught.value.headers == ((b"retry-after", b"4"),)


def test_no_limit_lets_everything_through() -> None:
    limit = RateLimit(0.0, 1, monotonic=Time())
    assert all(taken(limit) for _ in range(1000))


@given(
    st.floats(0.1, 100.0),
    st.integers(1, 50),
    st.lists(st.floats(0.0, 10.0), min_size=1, max_size=200),
)
def test_no_project_ever_gets_more_than_its_burst_and_rate(per_second: float, burst: int, gaps: list[float]) -> None:
    time = Time()
    limit = RateLimit(per_second, burst, monotonic=time)
    count = 0
    for gap in gaps:
        time.now += gap
        count += taken(limit)
        assert count <= burst + per_second * time.now + 1e-6


def test_memory_is_bounded() -> None:
    limit = RateLimit(1.0, 1, monotonic=Time())
    for number in range(MAX_PROJECTS + 100):
        limit.count_request(f"p{number}")
    assert len(vars(limit)["_buckets"]) == MAX_PROJECTS


async def test_too_many_requests_are_answered_with_429(store: Store, sink: Sink) -> None:
    app = create_app(
        store=store,
        network=BuiltinNetwork(store.operators),
        driver=sink,
        default_provider="dev",
        rate_limit=RateLimit(0.001, 2),
        identity=TrustedHeaders(),
    )
    async with Client.of(app) as client:
        await client.get("/loadbalancers", headers=MEMBER.headers)
        await client.get("/listeners", headers=MEMBER.headers)
        answer = await client.http.get("/v2/lbaas/pools", headers=MEMBER.headers)
        assert answer.status_code == 429 and int(answer.headers["retry-after"]) > 1
        assert answer.json()["faultcode"] == "Client"
        await client.post("/loadbalancers", {}, 429, headers=MEMBER.headers)
        await client.get("/loadbalancers", headers=STRANGER.headers)
        await client.get("/healthz")


async def test_operators_ask_as_often_as_they_like_and_tenants_do_not_by_a_refused_request(
    store: Store, sink: Sink
) -> None:
    app = create_app(
        store=store,
        network=BuiltinNetwork(store.operators),
        driver=sink,
        default_provider="dev",
        rate_limit=RateLimit(0.001, 1),
        identity=TrustedHeaders(),
    )
    async with Client.of(app) as client:
        for _ in range(3):
            await client.get("/loadbalancers", headers=ADMIN.headers)
        await client.get("/evenkeel/v1/agents", 403, headers=READER.headers)
        await client.get("/evenkeel/v1/agents", 429, headers=READER.headers)
