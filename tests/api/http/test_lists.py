"""Lists: filters, order, pages, chosen attributes."""

import pytest

from tests.api.client import Client


@pytest.mark.parametrize("path", ["/listeners", "/v2.0/lbaas/listeners", "/neutron/v2.0/lbaas/listeners"])
async def test_a_number_with_two_signs_is_none(api: Client, path: str) -> None:
    assert "--5" in str(await api.get(f"{path}?protocol_port=--5", 400))


@pytest.fixture
async def names(api: Client) -> list[str]:
    """Five load balancers, lb-0 to lb-4; the odd ones of another project and down."""
    made = []
    for number in range(5):
        project = "odd" if number % 2 else "even"
        made.append(await api.load_balancer(name=f"lb-{number}", project_id=project, admin_state_up=number % 2 == 0))
    return [row["name"] for row in made]


async def listed(api: Client, query: str) -> list[str]:
    return [row["name"] for row in (await api.get(f"/loadbalancers?{query}"))["loadbalancers"]]


async def test_all_projects_are_listed_unless_filtered(api: Client, names: list[str]) -> None:
    assert await listed(api, "") == names
    assert await listed(api, "project_id=odd") == await listed(api, "tenant_id=odd") == ["lb-1", "lb-3"]
    assert await listed(api, "project_id=odd&project_id=even") == names
    assert await listed(api, "project_id=nobody") == []


async def test_filters_are_anded_and_repeated_ones_ored(api: Client, names: list[str]) -> None:
    assert await listed(api, "name=lb-1&name=lb-2") == ["lb-1", "lb-2"]
    assert await listed(api, "name=lb-1&admin_state_up=true") == []
    for word in ("False", "n", "OFF"):
        assert await listed(api, f"admin_state_up={word}&provisioning_status=PENDING_CREATE") == ["lb-1", "lb-3"]


async def test_children_are_filtered_by_their_load_balancer_under_both_names(api: Client) -> None:
    first, second = await api.load_balancer(), await api.load_balancer()
    listener = await api.listener(first["id"], protocol_port=81)
    await api.listener(second["id"])
    for query in (f"loadbalancer_id={first['id']}", f"load_balancer_id={first['id']}", "protocol_port=81"):
        assert (await api.get(f"/listeners?{query}"))["listeners"] == [listener]


@pytest.mark.parametrize(
    ("query", "word"),
    [
        ("created_at=yesterday", "created_at"),
        ("updated_at=2026-01-02", "updated_at"),
        ("limit=many", "many"),
        ("limit=--1", "--1"),
        ("sort=name:up", "up"),
        ("page_reverse=perhaps", "perhaps"),
        ("admin_state_up=perhaps", "perhaps"),
        ("name=%00", "NUL"),
        ("&".join(["name=x"] * 101), "100"),
    ],
)
async def test_bad_list_parameter_is_refused_in_the_other_error_body(api: Client, query: str, word: str) -> None:
    answer = await api.get(f"/loadbalancers?{query}", 400)
    assert (answer["code"], answer["title"]) == (400, "Bad Request")
    assert word in answer["description"]


@pytest.mark.parametrize(
    ("query", "word"),
    [
        ("color=blue", "color"),
        ("tag=a", "tag"),
        ("marker=nobody", "nobody"),
        ("sort=color", "color"),
        ("sort_key=tags", "tags"),
    ],
)
async def test_unknown_list_parameter_is_refused_in_the_usual_error_body(api: Client, query: str, word: str) -> None:
    answer = await api.get(f"/loadbalancers?{query}", 400)
    assert answer["faultcode"] == "Client" and word in answer["faultstring"]


LISTS = (
    "loadbalancers",
    "listeners",
    "pools",
    "healthmonitors",
    "l7policies",
    "quotas",
    "flavors",
    "flavorprofiles",
    "availabilityzones",
    "availabilityzoneprofiles",
    "amphorae",
)


def allowed(answer: dict[str, str]) -> list[str]:
    return answer["faultstring"].partition("Allowed: ")[2].removesuffix(".").split(", ")


@pytest.mark.parametrize("kind", LISTS)
async def test_keys_and_filters_that_an_error_lists_are_accepted(api: Client, kind: str) -> None:
    path = "/v2/octavia/amphorae" if kind == "amphorae" else f"/v2/lbaas/{kind}"
    keys = allowed((await api.http.get(f"{path}?sort=color")).json())
    names = allowed((await api.http.get(f"{path}?color=blue")).json())
    assert len(keys) == len(set(keys)) and len(names) == len(set(names))
    for key in keys:
        assert (await api.http.get(f"{path}?sort={key}")).status_code == 200, key
    for name in names:
        answer = await api.http.get(f"{path}?{name}=1")
        assert answer.status_code == 200 or name in ("created_at", "updated_at"), answer.text
    for name in {"project_id", "tenant_id"} - set(names):
        for query in (f"{name}=p", f"{name}=p&{name}=q", f"sort={name}"):
            assert (await api.http.get(f"{path}?{query}")).status_code == 400, query


async def test_bad_integer_filter_is_refused(api: Client) -> None:
    for value in ("x", "99999999999", "1.5", "-", "²"):
        assert (await api.get(f"/listeners?protocol_port={value}", 400))["code"] == 400
    assert (await api.get("/healthmonitors?http_version=x", 400))["code"] == 400


async def test_order_is_by_creation_unless_requested(api: Client, names: list[str]) -> None:
    assert await listed(api, "sort=name:desc") == names[::-1]
    assert await listed(api, "sort_key=admin_state_up,name&sort_dir=asc,desc") == [
        "lb-3",
        "lb-1",
        "lb-4",
        "lb-2",
        "lb-0",
    ]


async def test_links_lead_through_all_pages_and_back_with_the_filters(api: Client, names: list[str]) -> None:
    page = await api.get("/loadbalancers?limit=1&project_id=even&sort=name:desc&fields=name")
    forth = [page["loadbalancers"]]
    while links := {link["rel"]: link["href"] for link in page["loadbalancers_links"]}:
        if "next" not in links:
            break
        page = (await api.http.get(links["next"])).json()
        forth.append(page["loadbalancers"])
    assert forth == [[{"name": name}] for name in ("lb-4", "lb-2", "lb-0")]
    back = (await api.http.get(links["previous"])).json()
    assert back["loadbalancers"] == [{"name": "lb-2"}]


async def test_whole_list_has_no_links(api: Client, names: list[str]) -> None:
    assert (await api.get("/loadbalancers?limit=5"))["loadbalancers_links"] == []
    assert await listed(api, "limit=0") == await listed(api, "limit=-1") == await listed(api, "limit=999999") == names


async def test_fields_choose_attributes_and_unknown_ones_are_ignored(api: Client, names: list[str]) -> None:
    rows = (await api.get("/loadbalancers?fields=name&fields=color&limit=1"))["loadbalancers"]
    assert rows == [{"name": "lb-0"}]
    root = (await api.get("/loadbalancers"))["loadbalancers"][0]
    assert (await api.get(f"/loadbalancers/{root['id']}?fields=id"))["loadbalancer"] == {"id": root["id"]}


# -- tags, times, attributes that are not set


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("tags=a", ["ab", "a"]),
        ("tags=a,b", ["ab"]),
        ("tags=a&tags=b", ["ab"]),
        ("tags-any=a,c", ["ab", "a", "c"]),
        ("not-tags=a,b", ["a", "c", "none"]),
        ("not-tags-any=a,c", ["none"]),
        ("tags=a&not-tags=b", ["a"]),
        ("tags-any=b,c&name=c", ["c"]),
        ("tags=%22", []),
        ("tags=", ["ab", "a", "c", "none"]),
    ],
)
async def test_tags_choose_in_four_ways(api: Client, query: str, expected: list[str]) -> None:
    for name, tags in (("ab", ["a", "b"]), ("a", ["a"]), ("c", ["c"]), ("none", [])):
        await api.load_balancer(name=name, tags=tags)
    assert await listed(api, query) == expected


async def test_tags_are_kept_by_links(api: Client) -> None:
    for name in ("one", "two"):
        await api.load_balancer(name=name, tags=["a"])
        await api.load_balancer(name="other")
    page = await api.get("/loadbalancers?tags=a&limit=1")
    (link,) = page["loadbalancers_links"]
    assert [row["name"] for row in (await api.http.get(link["href"])).json()["loadbalancers"]] == ["two"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("tls_versions=TLSv1.2", [443, 444]),
        ("tls_versions=TLSv1", [444]),
        ("tls_versions=TLSv1&tls_versions=TLSv1.3", [443, 444]),
        ("tls_versions=TLSv1&alpn_protocols=http/1.0", []),
        ("tls_versions=tlsv1", []),
        ("tls_versions=", [80]),
        ("sni_container_refs=b", [444]),
        ("allowed_cidrs=10.0.0.0/8", [80]),
        ("allowed_cidrs=10.0.0.0", []),
    ],
)
async def test_lists_are_filtered_by_what_is_in_them(api: Client, query: str, expected: list[int]) -> None:
    root = await api.load_balancer()
    tls = {"protocol": "TERMINATED_HTTPS", "default_tls_container_ref": "a"}
    await api.listener(root["id"], allowed_cidrs=["192.0.2.0/24", "10.0.0.0/8"])
    await api.listener(root["id"], protocol_port=443, **tls)
    own = {"sni_container_refs": ["a", "b"], "tls_versions": ["TLSv1", "TLSv1.2"], "alpn_protocols": ["h2"]}
    await api.listener(root["id"], protocol_port=444, **tls, **own)
    found = (await api.get(f"/listeners?{query}"))["listeners"]
    assert [each["protocol_port"] for each in found] == expected


async def test_load_balancers_and_pools_are_filtered_by_lists_too_and_ordered_by_none(api: Client) -> None:
    root = await api.load_balancer(vip_sg_ids=["one", "two"])
    pool = await api.pool(root["id"], tls_enabled=True, alpn_protocols=["h2"])
    assert [row["id"] for row in (await api.get("/loadbalancers?vip_sg_ids=two"))["loadbalancers"]] == [root["id"]]
    assert (await api.get("/loadbalancers?vip_sg_ids=tw"))["loadbalancers"] == []
    assert [row["id"] for row in (await api.get("/pools?alpn_protocols=h2"))["pools"]] == [pool["id"]]
    for path in ("/loadbalancers?sort=vip_sg_ids", "/pools?sort=tls_versions", "/listeners?sort=allowed_cidrs"):
        assert "sort key" in (await api.get(path, 400))["faultstring"]


async def test_pools_are_filtered_by_their_monitors(api: Client) -> None:
    root = await api.load_balancer()
    pools = [await api.pool(root["id"]) for _ in range(3)]
    monitors = [await api.monitor(pool["id"]) for pool in pools[:2]]
    for query, expected in (
        (f"healthmonitor_id={monitors[1]['id']}", [1]),
        (f"healthmonitor_id={monitors[0]['id']}&healthmonitor_id={monitors[1]['id']}", [0, 1]),
        ("healthmonitor_id=nobody", []),
        ("healthmonitor_id=", [2]),
    ):
        found = [row["id"] for row in (await api.get(f"/pools?{query}"))["pools"]]
        assert found == [pools[number]["id"] for number in expected], query
        if not query.endswith("="):
            neutron = (await api.get(f"/neutron/v2.0/lbaas/pools?{query}"))["pools"]
            assert {row["id"] for row in neutron} == set(found)
    assert "sort key" in (await api.get("/pools?sort=healthmonitor_id", 400))["faultstring"]
    await api.delete(f"/healthmonitors/{monitors[0]['id']}")


async def test_children_are_chosen_by_tags(api: Client) -> None:
    root = await api.load_balancer()
    listener = await api.listener(root["id"], tags=["a"])
    pool = await api.pool(root["id"], tags=["a"])
    await api.pool(root["id"])
    member = await api.member(pool["id"], tags=["a"])
    monitor = await api.monitor(pool["id"], tags=["b"])
    for path, name, expected in (
        ("/listeners?tags=a", "listeners", listener),
        ("/pools?tags=a", "pools", pool),
        (f"/pools/{pool['id']}/members?not-tags=b", "members", member),
        ("/healthmonitors?not-tags-any=a", "healthmonitors", monitor),
    ):
        assert [row["id"] for row in (await api.get(path))[name]] == [expected["id"]]


async def test_times_and_attributes_that_are_not_set_are_filters(api: Client) -> None:
    first, second = await api.load_balancer(name="one"), await api.load_balancer(name="two")
    await api.put(f"/loadbalancers/{second['id']}", {"loadbalancer": {"description": "x"}})
    updated = (await api.get(f"/loadbalancers/{second['id']}"))["loadbalancer"]["updated_at"]
    assert await listed(api, f"updated_at={updated}") == ["two"]
    assert await listed(api, "updated_at=") == ["one"]
    assert "one" in await listed(api, f"created_at={first['created_at']}Z")
    assert await listed(api, "created_at=2001-01-02T03:04:05") == []
    pool = await api.pool(first["id"])
    listener = await api.listener(first["id"], default_pool_id=pool["id"])
    empty = await api.listener(first["id"], protocol_port=81)
    for query, expected in ((f"default_pool_id={pool['id']}", listener), ("default_pool_id=", empty)):
        assert (await api.get(f"/listeners?{query}"))["listeners"][0]["id"] == expected["id"]


async def test_page_before_a_marker_is_the_page_before_it(api: Client, names: list[str]) -> None:
    rows = (await api.get("/loadbalancers"))["loadbalancers"]
    before = await api.get(f"/loadbalancers?limit=2&marker={rows[4]['id']}&page_reverse=True")
    assert [row["name"] for row in before["loadbalancers"]] == names[2:4]
    assert {link["rel"] for link in before["loadbalancers_links"]} == {"previous", "next"}
    assert await listed(api, "limit=2&page_reverse=true") == names[3:]
