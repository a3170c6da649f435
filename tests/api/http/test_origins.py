"""Web pages of other sites: a browser sends their requests with the credentials that it keeps for the API."""

import pytest

from evenkeel.api.http.origins import OriginRule
from evenkeel.api.responses.errors import Refusal
from tests.api.client import Client
from tests.api.requests_of import Known, path_of, routes

KNOWN = Known("lb", "listener", "pool", "member", "monitor", "agent")
WRITING = [route for route in routes() if route.method not in ("GET", "HEAD", "OPTIONS")]
OTHER_SITE = {"origin": "https://other.example"}


async def test_every_writing_route_refuses_a_page_of_another_origin_before_it_reads_the_body(api: Client) -> None:
    for route in WRITING:
        for headers in (OTHER_SITE, {"sec-fetch-site": "cross-site"}, {"sec-fetch-site": "same-site"}):
            answer = await api.http.request(route.method, path_of(route, KNOWN), headers=headers)
            assert answer.status_code == 403 and "[api] trusted_origins" in answer.text, f"{route}: {answer.text}"


async def test_database_history_stays_when_a_page_of_another_origin_posts_without_a_body(api: Client) -> None:
    before = await api.get("/evenkeel/v1/database")
    answer = await api.http.post("/evenkeel/v1/database/new-history", headers=OTHER_SITE)
    assert answer.status_code == 403
    assert await api.get("/evenkeel/v1/database") == before


async def test_pages_of_other_origins_may_send_requests_that_only_read(api: Client) -> None:
    assert (await api.http.get("/v2/lbaas/loadbalancers", headers=OTHER_SITE)).status_code == 200


ALLOWED = [
    {},
    {b"host": b"lb.example:9876", b"origin": b"http://lb.example:9876"},
    {b"host": b"LB.example:9876", b"origin": b"https://lb.EXAMPLE:9876"},
    {b"host": b"inside:1", b"origin": b"https://lb.example", b"sec-fetch-site": b"same-origin"},
    {b"host": b"inside:1", b"sec-fetch-site": b"none"},
    {b"host": b"lb.example", b"origin": b"https://console.example", b"sec-fetch-site": b"cross-site"},
]
REFUSED = [
    {b"host": b"lb.example", b"origin": b"null"},
    {b"host": b"lb.example", b"origin": b"http://lb.example:81"},
    {b"host": b"lb.example", b"origin": b"http://other.example"},
    {b"host": b"lb.example", b"origin": b"https://lb.example", b"sec-fetch-site": b"cross-site"},
    {b"host": b"lb.example", b"origin": b"https://lb.example", b"sec-fetch-site": b"same-site"},
    {b"origin": b"http://other.example"},
    {b"host": b"", b"origin": b"://"},
    {b"host": b"lb.example", b"origin": b"https://console.example.other.example"},
]


@pytest.mark.parametrize("headers", ALLOWED)
def test_own_and_trusted_pages_and_other_clients_may_write(headers: dict[bytes, bytes]) -> None:
    OriginRule(["https://console.example"]).check_origin("POST", headers)


@pytest.mark.parametrize("headers", REFUSED)
def test_pages_of_other_origins_may_not_write(headers: dict[bytes, bytes]) -> None:
    with pytest.raises(Refusal, match="trusted_origins"):
        OriginRule(["https://console.example"]).check_origin("POST", headers)


@pytest.mark.parametrize("origin", ["console.example", "https://console.example/", "ftp://x", "*", "null", "https://"])
def test_trusted_origin_that_is_none_is_refused_by_name(origin: str) -> None:
    with pytest.raises(ValueError, match=r"api\.trusted_origins: .* is not an origin"):
        OriginRule([origin])
