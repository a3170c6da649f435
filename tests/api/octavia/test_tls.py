"""TLS that ends at a listener, and TLS that is spoken to members: Octavia's defaults and rules."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from evenkeel.api.app import create_app
from evenkeel.api.usecases.tls_rules import DEFAULT_ALPN
from evenkeel.core.ports import Store
from evenkeel.core.tls.tls import DEFAULT_CIPHERS, DEFAULT_VERSIONS, TlsRules
from evenkeel.network.builtin import BuiltinNetwork
from tests.api import bodies
from tests.api.client import Client, Sink

REF = "https://keys.example/v1/containers/5ae3"
TLS: dict[str, Any] = {"protocol": "TERMINATED_HTTPS", "protocol_port": 443, "default_tls_container_ref": REF}
NOTHING = {
    "default_tls_container_ref": None,
    "sni_container_refs": [],
    "client_ca_tls_container_ref": None,
    "client_authentication": "NONE",
    "client_crl_container_ref": None,
    "tls_ciphers": None,
    "tls_versions": None,
    "alpn_protocols": None,
    "hsts_max_age": None,
    "hsts_include_subdomains": False,
    "hsts_preload": False,
}
WHOLE: dict[str, Any] = {
    "default_tls_container_ref": REF,
    "sni_container_refs": ["a", "b"],
    "client_ca_tls_container_ref": "ca",
    "client_authentication": "MANDATORY",
    "client_crl_container_ref": "crl",
    "tls_ciphers": "TLS_AES_128_GCM_SHA256:ECDHE-RSA-AES128-GCM-SHA256:!aNULL",
    "tls_versions": ["TLSv1.3", "TLSv1.2"],
    "alpn_protocols": ["http/1.1"],
    "hsts_max_age": 31536000,
    "hsts_include_subdomains": True,
    "hsts_preload": True,
}
POOL_NOTHING = {
    "tls_enabled": False,
    "tls_container_ref": None,
    "ca_tls_container_ref": None,
    "crl_container_ref": None,
    "tls_ciphers": None,
    "tls_versions": None,
    "alpn_protocols": None,
}
POOL_WHOLE: dict[str, Any] = {
    "tls_enabled": True,
    "tls_container_ref": REF,
    "ca_tls_container_ref": "ca",
    "crl_container_ref": "crl",
    "tls_ciphers": "TLS_AES_256_GCM_SHA384",
    "tls_versions": ["TLSv1.3"],
    "alpn_protocols": ["h2", "http/1.1"],
}
SETTINGS = {
    "tls_ciphers": DEFAULT_CIPHERS,
    "tls_versions": list(DEFAULT_VERSIONS),
    "alpn_protocols": list(DEFAULT_ALPN),
}


@pytest.fixture
async def root(api: Client) -> dict[str, Any]:
    return await api.load_balancer()


async def change(api: Client, listener: dict[str, Any], status: int = 200, **attributes: Any) -> Any:
    answer = await api.put(f"/listeners/{listener['id']}", {"listener": attributes}, status)
    return answer["faultstring"] if status >= 400 else answer["listener"]


def of(shown: dict[str, Any], names: dict[str, Any]) -> dict[str, Any]:
    return {name: shown[name] for name in names}


async def test_listener_without_tls_has_none_of_it(api: Client, root: dict[str, Any]) -> None:
    assert of(await api.listener(root["id"], **NOTHING), NOTHING) == NOTHING


async def test_terminated_https_listener_gets_octavias_defaults(api: Client, root: dict[str, Any]) -> None:
    shown = await api.listener(root["id"], **TLS)
    assert of(shown, NOTHING) == NOTHING | {"default_tls_container_ref": REF} | SETTINGS
    by_name = await api.listener(
        root["id"],
        **TLS
        | NOTHING
        | {"sni_container_refs": ["x"], "protocol_port": 444}
        | {"tls_versions": None, "alpn_protocols": None},
    )
    assert of(by_name, NOTHING) == NOTHING | {"sni_container_refs": ["x"]} | SETTINGS


async def test_everything_about_tls_is_kept_shown_and_filtered_by(api: Client, root: dict[str, Any]) -> None:
    shown = await api.listener(root["id"], **TLS | WHOLE)
    await api.listener(root["id"])
    assert of(shown, WHOLE) == WHOLE
    assert (await api.get(f"/listeners/{shown['id']}"))["listener"] == shown
    for name, value in WHOLE.items():
        if not isinstance(value, list):
            found = (await api.get(f"/listeners?{name}={value}"))["listeners"]
            assert [each["id"] for each in found] == [shown["id"]], name
    without = (await api.get("/listeners?hsts_max_age="))["listeners"]
    assert shown["id"] not in [each["id"] for each in without] and len(without) == 1


async def test_null_means_the_default_of_the_protocol(api: Client, root: dict[str, Any]) -> None:
    listener = await api.listener(root["id"], **TLS | WHOLE)
    keeping = {"default_tls_container_ref", "client_ca_tls_container_ref"}
    reset = await change(api, listener, **dict.fromkeys(set(WHOLE) - keeping))
    expected = NOTHING | {name: WHOLE[name] for name in keeping} | SETTINGS
    assert of(reset, NOTHING) == expected
    changed = await change(api, listener, tls_versions=["TLSv1.3", "TLSv1.3"], hsts_max_age=0)
    assert (changed["tls_versions"], changed["hsts_max_age"]) == (["TLSv1.3"], 0)
    assert changed["tls_ciphers"] == DEFAULT_CIPHERS


ELSEWHERE = [
    (name, value)
    for name, value in {**WHOLE, "client_authentication": "OPTIONAL"}.items()
    if name not in ("default_tls_container_ref", *SETTINGS)
]


@pytest.mark.parametrize(("name", "value"), ELSEWHERE, ids=[name for name, _ in ELSEWHERE])
async def test_tls_is_refused_where_it_does_not_end(api: Client, root: dict[str, Any], name: str, value: Any) -> None:
    for protocol in ("HTTP", "HTTPS", "UDP"):
        body = {"loadbalancer_id": root["id"], "protocol": protocol, "protocol_port": 80, name: value}
        text = (await api.post("/listeners", {"listener": body}, 400))["faultstring"]
        assert name in text and protocol in text and "TERMINATED_HTTPS" in text
    listener = await api.listener(root["id"])
    assert name in await change(api, listener, 400, **{name: value})


@pytest.mark.parametrize("protocol", ["HTTP", "TCP"])
async def test_settings_of_tls_are_kept_and_shown_at_a_listener_without_tls(
    api: Client, root: dict[str, Any], protocol: str
) -> None:
    settings = of(WHOLE, SETTINGS)
    listener = await api.listener(root["id"], protocol=protocol, protocol_port=81, **settings)
    assert of(listener, SETTINGS) == settings
    changed = await change(api, listener, tls_versions=["TLSv1.3"])
    assert of(changed, SETTINGS) == {**settings, "tls_versions": ["TLSv1.3"]}
    assert "tls_versions" in await change(api, listener, 400, tls_versions=["TLSv9"])


@pytest.mark.parametrize(
    ("attributes", "words"),
    [
        ({"default_tls_container_ref": None}, ["sni_container_refs", "default_tls_container_ref"]),
        ({"client_authentication": "OPTIONAL"}, ["OPTIONAL", "client_ca_tls_container_ref"]),
        ({"client_authentication": "SOMETIMES"}, ["client_authentication", "SOMETIMES", "MANDATORY"]),
        ({"client_crl_container_ref": "x"}, ["client_crl_container_ref", "client_ca_tls_container_ref"]),
        ({"hsts_preload": True}, ["hsts_preload", "hsts_max_age"]),
        ({"hsts_include_subdomains": True}, ["hsts_include_subdomains", "hsts_max_age"]),
        ({"hsts_max_age": -1}, ["hsts_max_age", "-1"]),
        ({"tls_versions": []}, ["tls_versions", "Empty"]),
        ({"tls_versions": ["TLSv2"]}, ["tls_versions", "TLSv2", "TLSv1.3"]),
        ({"alpn_protocols": []}, ["alpn_protocols", "Empty"]),
        ({"alpn_protocols": ["spdy"]}, ["alpn_protocols", "spdy", "h2"]),
        ({"tls_ciphers": "NO-SUCH"}, ["tls_ciphers", "OpenSSL's: NO-SUCH;", "ECDHE-RSA-AES128-GCM-SHA256"]),
        ({"tls_ciphers": "HIGH:TLS_AES_1:!NONE:@SECLEVEL=1"}, ["tls_ciphers", "OpenSSL's: TLS_AES_1, !NONE;"]),
        ({"tls_ciphers": "a b"}, ["tls_ciphers", "a b", "colons"]),
        ({"tls_ciphers": "A:" * 1024 + "A"}, ["tls_ciphers", "2048"]),
        ({"default_tls_container_ref": "x" * 256}, ["default_tls_container_ref", "255"]),
        ({"default_tls_container_ref": "a\nb"}, ["default_tls_container_ref", "visible"]),
        ({"default_tls_container_ref": ""}, ["sni_container_refs", "default_tls_container_ref"]),
        ({"client_authentication": "OPTIONAL", "client_ca_tls_container_ref": ""}, ["client_ca_tls_container_ref"]),
        ({"sni_container_refs": ["x"] * 201}, ["sni_container_refs", "200"]),
        ({"sni_container_refs": ["x", ""]}, ["sni_container_refs", "minimum"]),
    ],
)
async def test_inconsistent_tls_attributes_are_refused_on_create_and_change(
    api: Client, root: dict[str, Any], attributes: dict[str, Any], words: list[str]
) -> None:
    body = {"loadbalancer_id": root["id"], **TLS, **attributes}
    created = (await api.post("/listeners", {"listener": body}, 400))["faultstring"]
    listener = await api.listener(root["id"], **TLS)
    for text in (created, await change(api, listener, 400, **attributes)):
        assert all(word in text for word in words), text
    assert (await api.get(f"/listeners/{listener['id']}"))["listener"] == listener


async def test_a_change_is_judged_by_what_comes_of_it(api: Client, root: dict[str, Any]) -> None:
    listener = await api.listener(root["id"], **TLS | WHOLE)
    assert "MANDATORY" in await change(api, listener, 400, client_ca_tls_container_ref=None)
    assert "hsts_max_age" in await change(api, listener, 400, hsts_max_age=None)
    await change(api, listener, default_tls_container_ref=None)  # names are left
    assert "sni" in await change(api, listener, 400, sni_container_refs=[])
    await change(
        api,
        listener,
        client_ca_tls_container_ref=None,
        client_authentication="NONE",
        client_crl_container_ref=None,
    )


EMPTY_LISTENER = dict.fromkeys(
    ("default_tls_container_ref", "client_ca_tls_container_ref", "client_crl_container_ref"), ""
)
EMPTY_POOL = dict.fromkeys(("tls_container_ref", "ca_tls_container_ref", "crl_container_ref"), "")


async def test_an_empty_reference_is_none(api: Client, root: dict[str, Any]) -> None:
    """Terraform sends it where an attribute was removed."""
    listener = await api.listener(root["id"], **TLS | WHOLE)
    cleared = await change(api, listener, client_authentication="NONE", **EMPTY_LISTENER)
    assert of(cleared, EMPTY_LISTENER) == dict.fromkeys(EMPTY_LISTENER)
    plain = await api.listener(root["id"], **EMPTY_LISTENER)
    assert of(plain, NOTHING) == NOTHING

    pool = await api.pool(root["id"], **POOL_WHOLE)
    emptied = (await api.put(f"/pools/{pool['id']}", {"pool": EMPTY_POOL}))["pool"]
    assert of(emptied, POOL_WHOLE) == POOL_WHOLE | dict.fromkeys(EMPTY_POOL)
    assert of(await api.pool(root["id"], **EMPTY_POOL), POOL_NOTHING) == POOL_NOTHING

    nested = {"protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN", **EMPTY_POOL}
    body = bodies.load_balancer(
        listeners=[{"protocol": "HTTP", "protocol_port": 80, **EMPTY_LISTENER}], pools=[nested | {"name": "p"}]
    )
    made = (await api.post("/loadbalancers", body))["loadbalancer"]
    assert of(made["listeners"][0], NOTHING) == NOTHING
    assert of(made["pools"][0], POOL_NOTHING) == POOL_NOTHING


async def test_of_changes_at_once_one_stands_whole(api: Client, root: dict[str, Any]) -> None:
    listener = await api.listener(root["id"], **TLS)
    path = f"/listeners/{listener['id']}"
    ca = {"client_ca_tls_container_ref": "ca", "client_authentication": "MANDATORY"}
    for _ in range(5):
        await change(api, listener, **ca)
        await asyncio.gather(
            api.http.request("PUT", f"/v2/lbaas{path}", json={"listener": {"client_crl_container_ref": "crl"}}),
            api.http.request(
                "PUT",
                f"/v2/lbaas{path}",
                json={"listener": {"client_ca_tls_container_ref": None, "client_authentication": "NONE"}},
            ),
        )
        now = (await api.get(path))["listener"]
        assert now["client_ca_tls_container_ref"] or (
            now["client_authentication"] == "NONE" and now["client_crl_container_ref"] is None
        )


async def test_headers_about_certificates_are_inserted_where_tls_ends(api: Client, root: dict[str, Any]) -> None:
    headers = {"X-SSL-Client-Verify": "true", "X-SSL-Client-SHA1": "false", "X-Forwarded-Proto": "true"}
    listener = await api.listener(root["id"], **TLS, insert_headers=headers)
    assert listener["insert_headers"] == headers
    changed = await change(api, listener, insert_headers={"X-SSL-Client-Not-After": "true"})
    assert changed["insert_headers"] == {"X-SSL-Client-Not-After": "true"}
    plain = await api.listener(root["id"])
    assert "X-SSL-Issuer" in await change(api, plain, 400, insert_headers={"X-SSL-Issuer": "true"})


async def test_terminated_https_listener_has_policies_about_certificates(api: Client, root: dict[str, Any]) -> None:
    listener = await api.listener(root["id"], **TLS)
    policy = {"listener_id": listener["id"], "action": "REJECT"}
    rules = [
        {"type": "SSL_CONN_HAS_CERT", "compare_type": "EQUAL_TO", "value": "true", "invert": True},
        {"type": "SSL_VERIFY_RESULT", "compare_type": "EQUAL_TO", "value": "0"},
        {"type": "SSL_DN_FIELD", "compare_type": "STARTS_WITH", "key": "CN", "value": "app"},
    ]
    made = (await api.post("/l7policies", {"l7policy": policy | {"rules": rules}}))["l7policy"]
    assert len(made["rules"]) == 3
    pool = await api.pool(root["id"], listener_id=listener["id"])
    assert (await api.get(f"/listeners/{listener['id']}"))["listener"]["default_pool_id"] == pool["id"]
    body = {"listener_id": listener["id"], "protocol": "TCP", "lb_algorithm": "ROUND_ROBIN"}
    assert "TERMINATED_HTTPS" in (await api.post("/pools", {"pool": body}, 400))["faultstring"]


# -- towards members


async def test_pool_without_tls_has_none_of_it(api: Client, root: dict[str, Any]) -> None:
    assert of(await api.pool(root["id"], **POOL_NOTHING), POOL_NOTHING) == POOL_NOTHING


async def test_pool_that_speaks_tls_gets_octavias_defaults(api: Client, root: dict[str, Any]) -> None:
    pool = await api.pool(root["id"], tls_enabled=True)
    assert of(pool, POOL_NOTHING) == POOL_NOTHING | {"tls_enabled": True} | SETTINGS
    later = await api.pool(root["id"])
    changed = (await api.put(f"/pools/{later['id']}", {"pool": {"tls_enabled": True}}))["pool"]
    assert of(changed, POOL_NOTHING) == of(pool, POOL_NOTHING)


async def test_everything_about_a_pools_tls_is_kept_shown_and_filtered_by(api: Client, root: dict[str, Any]) -> None:
    pool = await api.pool(root["id"], **POOL_WHOLE)
    await api.pool(root["id"])
    assert of(pool, POOL_WHOLE) == POOL_WHOLE
    for name, value in POOL_WHOLE.items():
        if not isinstance(value, list):
            assert [each["id"] for each in (await api.get(f"/pools?{name}={value}"))["pools"]] == [pool["id"]], name
    path = f"/pools/{pool['id']}"
    reset = (await api.put(path, {"pool": dict.fromkeys(POOL_WHOLE)}))["pool"]
    assert of(reset, POOL_NOTHING) == POOL_NOTHING


@pytest.mark.parametrize(
    ("attributes", "words"),
    [
        ({"crl_container_ref": "x"}, ["crl_container_ref", "ca_tls_container_ref"]),
        ({"tls_enabled": True, "tls_versions": []}, ["tls_versions", "Empty"]),
        ({"tls_enabled": "maybe"}, ["tls_enabled", "maybe"]),
        ({"tls_versions": ["SSLv2"]}, ["tls_versions", "SSLv2", "SSLv3"]),
        ({"tls_container_ref": "a b"}, ["tls_container_ref", "visible"]),
    ],
)
async def test_bad_tls_of_a_pool_is_refused_on_create_and_change(
    api: Client, root: dict[str, Any], attributes: dict[str, Any], words: list[str]
) -> None:
    body = {"loadbalancer_id": root["id"], "protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN", **attributes}
    created = (await api.post("/pools", {"pool": body}, 400))["faultstring"]
    pool = await api.pool(root["id"])
    changed = (await api.put(f"/pools/{pool['id']}", {"pool": attributes}, 400))["faultstring"]
    for text in (created, changed):
        assert all(word in text for word in words), text
    assert (await api.get(f"/pools/{pool['id']}"))["pool"] == pool


async def test_a_revocation_list_keeps_its_ca(api: Client, root: dict[str, Any]) -> None:
    pool = await api.pool(root["id"], **POOL_WHOLE)
    path = f"/pools/{pool['id']}"
    await api.put(path, {"pool": {"ca_tls_container_ref": None}}, 400)
    await api.put(path, {"pool": {"ca_tls_container_ref": None, "crl_container_ref": None}})


async def test_datagrams_are_not_spoken_over_tls(api: Client, root: dict[str, Any]) -> None:
    body = {"loadbalancer_id": root["id"], "protocol": "UDP", "lb_algorithm": "ROUND_ROBIN", "tls_enabled": True}
    text = (await api.post("/pools", {"pool": body}, 400))["faultstring"]
    assert "tls_enabled" in text and "UDP" in text


STRICT = TlsRules(minimum_version="TLSv1.2", prohibited_ciphers=frozenset({"AES128-SHA", "TLS_AES_128_GCM_SHA256"}))
OLD = "Validation failure: Requested TLS versions are less than the minimum: SSLv3, TLSv1.1 < TLSv1.2 (tls_versions)"
WEAK = "Validation failure: The following ciphers have been prohibited by an administrator: AES128-SHA (tls_ciphers)"
UNNAMED = (
    "Validation failure: The following ciphers have been prohibited by an administrator: TLS_AES_128_GCM_SHA256 "
    "(tls_ciphers: it names none of TLSv1.3, which then has all of its own; name some, or leave TLSv1.3 out of "
    "tls_versions)"
)
REFUSED = [
    ({"tls_versions": ["SSLv3", "TLSv1.3", "TLSv1.1"]}, OLD),
    ({"tls_ciphers": "AES256-SHA:AES128-SHA"}, WEAK),
    ({"tls_ciphers": "AES256-SHA"}, UNNAMED),
]


@pytest.fixture
async def strict(store: Store, sink: Sink) -> AsyncIterator[Client]:
    """An API whose operator forbids some versions and ciphers."""
    network = BuiltinNetwork(store.operators)
    async with Client.of(
        create_app(store=store, network=network, driver=sink, default_provider="dev", tls=STRICT)
    ) as client:
        yield client


@pytest.mark.parametrize(("attributes", "text"), REFUSED)
async def test_forbidden_tls_version_or_cipher_is_refused_everywhere(
    strict: Client, attributes: dict[str, Any], text: str
) -> None:
    root = (await strict.load_balancer())["id"]
    listener = await strict.listener(root, **TLS)
    pool_body = {"protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN", "tls_enabled": True}
    pool = (await strict.post("/pools", {"pool": pool_body | {"loadbalancer_id": root}}))["pool"]
    nested = pool_body | attributes
    to_pool = {"listener_id": listener["id"], "action": "REDIRECT_TO_POOL", "redirect_pool": nested}
    new = {"loadbalancer_id": root, **TLS, "protocol_port": 444}
    for answer in (
        await strict.post("/listeners", {"listener": new | attributes}, 400),
        await strict.post("/listeners", {"listener": new | {"default_pool": nested}}, 400),
        await strict.put(f"/listeners/{listener['id']}", {"listener": attributes}, 400),
        await strict.post("/pools", {"pool": nested | {"loadbalancer_id": root}}, 400),
        await strict.put(f"/pools/{pool['id']}", {"pool": attributes}, 400),
        await strict.post("/l7policies", {"l7policy": to_pool}, 400),
        await strict.post("/loadbalancers", bodies.load_balancer(listeners=[TLS | attributes]), 400),
        await strict.post("/loadbalancers", bodies.load_balancer(pools=[nested | {"name": "p"}]), 400),
    ):
        assert answer["faultstring"] == text


async def test_defaults_leave_out_what_the_operator_forbids(strict: Client) -> None:
    shown = await strict.listener((await strict.load_balancer())["id"], **TLS)
    assert shown["tls_ciphers"] == STRICT.default_ciphers == DEFAULT_CIPHERS.removeprefix("TLS_AES_128_GCM_SHA256:")
    assert shown["tls_versions"] == ["TLSv1.2", "TLSv1.3"]


async def test_listener_from_before_a_prohibition_stays_and_may_be_changed(api: Client, strict: Client) -> None:
    root = (await api.load_balancer())["id"]
    listener = await api.listener(root, **TLS, tls_versions=["TLSv1.1", "TLSv1.2"], tls_ciphers="AES128-SHA")
    changed = await change(strict, listener, hsts_max_age=5)
    assert (changed["tls_versions"], changed["tls_ciphers"]) == (["TLSv1.1", "TLSv1.2"], "AES128-SHA")
    assert await change(strict, listener, 400, tls_versions=["TLSv1.1"]) == OLD.replace("SSLv3, ", "")
    assert await change(strict, listener, 400, tls_versions=None) == UNNAMED
    assert (await change(strict, listener, tls_versions=["TLSv1.2"]))["tls_versions"] == ["TLSv1.2"]
    named = {"tls_versions": None, "tls_ciphers": "AES256-SHA:TLS_AES_256_GCM_SHA384"}
    assert (await change(strict, listener, **named))["tls_versions"] == ["TLSv1.2", "TLSv1.3"]
