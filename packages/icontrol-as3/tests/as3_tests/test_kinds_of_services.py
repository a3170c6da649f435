"""Services of every kind that SAP's driver declares, shown by their traffic."""

from __future__ import annotations

import asyncio
import ssl
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
import trustme

from as3_tests.declarations import (
    APPLICATION,
    LISTENER,
    POOL,
    TENANT,
    VIP,
    adc,
    application,
    declare,
    deployed,
    framed,
    one,
    pool,
    service,
    tenant,
)
from emulator_tests.client import Client, exchange, fetch, free_port
from emulator_tests.datagram_site import VIP as DATAGRAM_VIP
from emulator_tests.datagram_site import Asker, Echo
from emulator_tests.virtual_site import Start
from tests.waiting import eventually

PERSISTENT = 'when HTTP_REQUEST { if { [HTTP::cookie exists "sid"] } { persist uie [HTTP::cookie "sid"] 3600 } }'


async def is_stable(device: Client, body: dict[str, Any]) -> bool:
    """Whether a declaration is deployed, and says so when it comes again."""
    first = await deployed(device, body)
    return (first, await deployed(device, body)) == ("success", "no change")


async def count(port: int, requests: int, **headers: str) -> Counter[str]:
    return Counter([(await fetch(VIP, port, **headers))[1] for _ in range(requests)])


async def said_over_tls(port: int, authority: trustme.CA, name: str) -> str:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    authority.configure_trust(context)
    reader, writer = await asyncio.open_connection(VIP, port, ssl=context, server_hostname=name)
    try:
        return (await exchange(reader, writer))[1]
    finally:
        writer.close()


def certificate(leaf: trustme.LeafCert) -> dict[str, Any]:
    chain = "\n".join(each.bytes().decode() for each in leaf.cert_chain_pems)
    return {
        "class": "Certificate",
        "remark": "c",
        "certificate": chain,
        "privateKey": leaf.private_key_pem.bytes().decode(),
    }


VERSIONS = {
    "ssl3Enabled": False, "tls1_0Enabled": False, "tls1_1Enabled": False, "tls1_2Enabled": True, "tls1_3Enabled": False,
}  # fmt: skip


async def test_https_with_certificates_by_name(device: Client, backend: Start) -> None:
    server, authority, port = await backend("a"), trustme.CA(), free_port(VIP)
    leaves = {f"cert_{number}": authority.issue_cert(f"{number}.example.com") for number in (1, 2)}
    tls = {
        "class": "TLS_Server", "certificates": [{"certificate": name} for name in leaves], "ciphers": "DEFAULT",
        **VERSIONS,
    }  # fmt: skip
    objects = {
        **{name: certificate(leaf) for name, leaf in leaves.items()}, "tls": tls, POOL: pool(server),
        LISTENER: service("Service_HTTPS", port, serverTLS="tls", redirect80=False),
    }  # fmt: skip
    assert await is_stable(device, one(**objects))
    for number in (1, 2):
        assert await said_over_tls(port, authority, f"{number}.example.com") == "a"
    names = {
        each["name"] for each in (await device.get("ltm/profile/client-ssl"))["items"] if TENANT in each["fullPath"]
    }
    assert names == {"tls", "tls-1-"}


async def test_client_certificates_are_required(device: Client, backend: Start) -> None:
    server, authority, port = await backend("a"), trustme.CA(), free_port(VIP)
    tls = {
        "class": "TLS_Server", "certificates": [{"certificate": "own"}], "authenticationMode": "require",
        "authenticationTrustCA": "ca", "authenticationInviteCA": "ca", **VERSIONS,
    }  # fmt: skip
    objects = {
        "own": certificate(authority.issue_cert("www.example.com")), "tls": tls, POOL: pool(server),
        "ca": {"class": "CA_Bundle", "bundle": authority.cert_pem.bytes().decode()},
        LISTENER: service("Service_HTTPS", port, serverTLS="tls", redirect80=False),
    }  # fmt: skip
    assert await is_stable(device, one(**objects))
    with pytest.raises(OSError):
        await said_over_tls(port, authority, "www.example.com")


async def test_cipher_group_and_tls_13(device: Client) -> None:
    authority = trustme.CA()
    tls = {
        "class": "TLS_Server", "certificates": [{"certificate": "own"}], "cipherGroup": {"use": "group"},
        **VERSIONS, "tls1_3Enabled": True,
    }  # fmt: skip
    objects = {
        "own": certificate(authority.issue_cert("www.example.com")), "tls": tls,
        "rule": {"class": "Cipher_Rule", "cipherSuites": ["ECDHE-RSA-AES128-GCM-SHA256", "TLS13-AES128-GCM-SHA256"]},
        "group": {"class": "Cipher_Group", "allowCipherRules": [{"use": "rule"}]},
    }  # fmt: skip
    assert await is_stable(device, one(**objects))
    profile = await device.get(f"ltm/profile/client-ssl/~{TENANT}~{APPLICATION}~tls")
    assert profile["cipherGroup"] == f"/{TENANT}/{APPLICATION}/group" and "no-tlsv1.3" not in profile["tmOptions"]


async def test_tls_to_members(device: Client, backend: Start) -> None:
    server, authority = await backend("a"), trustme.CA()
    client = {"class": "TLS_Client", "trustCA": {"use": "ca"}, "validateCertificate": True, **VERSIONS}
    objects = {
        "ca": {"class": "CA_Bundle", "bundle": authority.cert_pem.bytes().decode()}, "client": client,
        POOL: pool(server), LISTENER: service("Service_HTTP", free_port(VIP), clientTLS="client"),
    }  # fmt: skip
    assert await is_stable(device, one(**objects))
    profile = await device.get(f"ltm/profile/server-ssl/~{TENANT}~{APPLICATION}~client")
    assert (profile["peerCertMode"], profile["caFile"]) == ("require", f"/{TENANT}/{APPLICATION}/ca")


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        ("Service_TCP", {}),
        ("Service_L4", {}),
        ("Service_Generic", {}),
        ("Service_L4", {"profileL4": {"bigip": "/Common/fastL4"}}),
    ],
)
async def test_tcp_services(device: Client, backend: Start, kind: str, more: dict[str, Any]) -> None:
    server, port = await backend("a"), free_port(VIP)
    assert await is_stable(device, one(**{LISTENER: service(kind, port, **more), POOL: pool(server)}))
    assert await count(port, 2) == {"a": 2}


async def test_udp_service(device: Client, echo: Callable[[str], Any], asker: Callable[..., Asker]) -> None:
    server: Echo = await echo("a")
    port = free_port(DATAGRAM_VIP)
    members = [{"servicePort": server.port, "serverAddresses": ["127.0.0.1"]}]
    listener = {**service("Service_UDP", port), "virtualAddresses": [DATAGRAM_VIP]}
    objects = {LISTENER: listener, POOL: {"class": "Pool", "members": members}}
    assert await is_stable(device, one(**objects))
    assert await asker(port).ask(b"!") == "a!"


async def test_monitors_take_members_out(device: Client, backend: Start) -> None:
    good, bad, port = await backend("good"), await backend("bad"), free_port(VIP)
    bad.status = "500 Sick"
    monitor = {
        "class": "Monitor", "monitorType": "http", "send": "GET /monitor HTTP/1.0\\r\\n\\r\\n",
        "receive": "HTTP/1.(0|1) 200", "interval": 1, "timeout": 1, "timeUntilUp": 0,
    }  # fmt: skip
    objects = {
        LISTENER: service("Service_HTTP", port),
        POOL: pool(good, bad, monitors=[{"use": "hm_1"}]),
        "hm_1": monitor,
    }
    assert await is_stable(device, one(**objects))

    async def only_good() -> bool:
        return await count(port, 4) == {"good": 4}

    await eventually(only_good)


async def test_a_monitor_goes_and_its_pool_stays(device: Client, backend: Start) -> None:
    server = await backend("a")
    monitor = {"class": "Monitor", "monitorType": "icmp", "interval": 5, "timeout": 16}
    assert await is_stable(device, one(**{POOL: pool(server, monitors=[{"use": "hm_1"}]), "hm_1": monitor}))
    assert await is_stable(device, one(**{POOL: pool(server)}))
    assert f"/{TENANT}/{APPLICATION}/hm_1" not in str(await device.get("ltm/monitor/gateway-icmp"))


async def test_backup_members_and_weights(device: Client, backend: Start) -> None:
    main, spare, port = await backend("main"), await backend("spare"), free_port(VIP)
    own = pool(main, spare, loadBalancingMode="ratio-member")
    own["members"][0] |= {"priorityGroup": 2, "ratio": 5}
    own["members"][1] |= {"priorityGroup": 1, "ratio": 1}
    objects = {LISTENER: service("Service_HTTP", port), POOL: own}
    assert await is_stable(device, one(**objects))
    assert await count(port, 4) == {"main": 4}
    own["members"][0]["adminState"] = "disable"
    assert await is_stable(device, one(**objects))
    assert await count(port, 4) == {"spare": 4}


def redirecting(name: str, operand: str, values: list[str], action: dict[str, Any]) -> dict[str, Any]:
    compare = {"operand": operand, "values": values, "caseSensitive": False}
    rule = {"name": name, "conditions": [{"type": "httpUri", "path": compare}], "actions": [action]}
    return {"class": "Endpoint_Policy", "label": name, "rules": [rule], "strategy": "all-match"}


async def test_policies_forward_redirect_and_drop(device: Client, backend: Start) -> None:
    first, second, port = await backend("a"), await backend("b"), free_port(VIP)
    forward = {"type": "forward", "select": {"pool": {"use": "pool_2"}}, "event": "request"}
    away = {"type": "httpRedirect", "location": "tcl:https://www.example.com[HTTP::uri]", "event": "request"}
    policies = {
        "to_pool": redirecting("to_pool", "starts-with", ["/b"], forward),
        "to_url": redirecting("to_url", "equals", ["/away"], away),
        "no": redirecting("no", "ends-with", [".exe"], {"type": "drop", "event": "request"}),
    }
    objects = {
        **policies, "pool_2": pool(second), POOL: pool(first),
        LISTENER: service("Service_HTTP", port, policyEndpoint=list(policies)),
    }  # fmt: skip
    assert await is_stable(device, one(**objects))
    assert (await fetch(VIP, port, "/"))[1] == "a"
    assert (await fetch(VIP, port, "/b"))[1] == "b"
    head, _ = await fetch(VIP, port, "/away")
    assert "302" in head and "https://www.example.com/away" in head
    with pytest.raises((OSError, EOFError)):
        await fetch(VIP, port, "/x.exe")
    objects["to_pool"] = redirecting("to_pool", "starts-with", ["/c"], forward)
    assert await is_stable(device, one(**objects))
    assert [(await fetch(VIP, port, path))[1] for path in ("/b", "/c")] == ["a", "b"]
    without = {**objects, LISTENER: service("Service_HTTP", port)}
    for name in policies:
        del without[name]
    assert await is_stable(device, one(**without))
    assert "items" not in await device.get("ltm/policy")


async def test_persistence(device: Client, backend: Start) -> None:
    servers, port = [await backend("a"), await backend("b")], free_port(VIP)
    persist = {"class": "Persist", "persistenceMethod": "source-address", "duration": 60, "addressMask": "255.255.0.0"}
    listener = service("Service_HTTP", port, persistenceMethods=[{"use": "persist_1"}])
    objects = {LISTENER: listener, POOL: pool(*servers), "persist_1": persist}
    assert await is_stable(device, one(**objects))
    assert len(await count(port, 6)) == 1
    app = {"class": "Persist", "persistenceMethod": "universal", "iRule": "irule_app", "duration": 3600}
    objects = {
        LISTENER: service("Service_HTTP", port, persistenceMethods=[{"use": "persist_2"}]), POOL: pool(*servers),
        "persist_2": app, "irule_app": {"class": "iRule", "iRule": PERSISTENT, "remark": "cookie"},
    }  # fmt: skip
    assert await is_stable(device, one(**objects))
    assert len(await count(port, 6, Cookie="sid=1")) == 1


async def test_header_rules_and_data_groups(device: Client, backend: Start) -> None:
    server, port = await backend("a"), free_port(VIP)
    text = (
        'when HTTP_REQUEST {\n    HTTP::header remove "X-Forwarded-For"\n'
        '    HTTP::header insert "X-Forwarded-For" [getfield [IP::remote_addr] "%" 1]\n}'
    )
    group = {"class": "Data_Group", "keyDataType": "string", "records": [{"key": "k", "value": "v"}, {"key": "e"}]}
    objects = {
        LISTENER: service("Service_HTTP", port, iRules=["irule_x_forwarded_for"]), POOL: pool(server),
        "irule_x_forwarded_for": {"class": "iRule", "iRule": text, "remark": "Insert X-Forwarded-For Header"},
        "group": group,
    }  # fmt: skip
    assert await is_stable(device, one(**objects))
    await fetch(VIP, port)
    assert "X-Forwarded-For: 127.0.0.1" in server.last_head
    records = (await device.get(f"ltm/data-group/internal/~{TENANT}~{APPLICATION}~group"))["records"]
    assert records == [{"name": "e", "data": ""}, {"name": "k", "data": "v"}]


async def test_profiles_of_enhanced_services(device: Client, backend: Start) -> None:
    server, port = await backend("a"), free_port(VIP)
    sides = {"ingress": {"bigip": "/Common/f5-tcp-wan"}, "egress": {"bigip": "/Common/f5-tcp-lan"}}
    more = {
        "profileTCP": sides, "profileMultiplex": {"bigip": "/Common/oneconnect"}, "maxConnections": 9,
        "profileHTTPCompression": {"bigip": "/Common/httpcompression"}, "profileHTTP": {"use": "http_1"},
    }  # fmt: skip
    http = {"class": "HTTP_Profile", "fallbackRedirect": "http://192.0.2.1/"}
    objects = {LISTENER: service("Service_HTTP", port, **more), POOL: pool(server), "http_1": http}
    assert await is_stable(device, one(**objects))
    assert await count(port, 2) == {"a": 2}


async def test_https_service_redirects_from_port_80(device: Client) -> None:
    authority = trustme.CA()
    tls = {"class": "TLS_Server", "certificates": [{"certificate": "own"}], **VERSIONS}
    objects = {
        "own": certificate(authority.issue_cert("www.example.com")), "tls": tls, POOL: {"class": "Pool"},
        LISTENER: service("Service_HTTPS", free_port(VIP), serverTLS="tls"),
    }  # fmt: skip
    assert await is_stable(device, one(**objects))
    virtual = await device.get(f"ltm/virtual/~{TENANT}~{APPLICATION}~{LISTENER}-Redirect-")
    assert virtual["destination"].endswith(":80") and virtual["rules"] == ["/Common/_sys_https_redirect"]


async def test_shared_nodes_are_in_common_and_stay(device: Client, backend: Start) -> None:
    server = await backend("a")
    shared = pool(server)
    shared["members"][0]["shareNodes"] = True
    both = adc(one=tenant(web=application(**{POOL: shared})), two=tenant(web=application(**{POOL: shared})))
    answer = await declare(device, framed(both))
    assert [each["message"] for each in answer.document["results"]] == ["success", "success"]
    answer = await declare(device, framed(both))
    assert [each["message"] for each in answer.document["results"]] == ["no change", "no change"]
    await device.send("DELETE", "/mgmt/shared/appsvcs/declare/one")
    assert [each["fullPath"] for each in (await device.get("ltm/node"))["items"]] == [f"/Common/{server.host}"]


async def test_route_domain_of_a_tenant(device: Client) -> None:
    await device.post("net/route-domain", {"name": "5", "id": 5})
    own = tenant(web=application(**{LISTENER: service("Service_HTTP", 8080), POOL: {"class": "Pool"}}))
    body = framed(adc(one={**own, "defaultRouteDomain": 5}))
    assert await is_stable(device, body)
    assert (await device.get(f"ltm/virtual/~one~web~{LISTENER}"))["destination"] == f"/one/{VIP}%5:8080"


async def test_shared_objects_of_common(device: Client, backend: Start) -> None:
    server, port = await backend("a"), free_port(VIP)
    common = tenant(Shared={"class": "Application", "template": "shared", "pool_c": pool(server)})
    listener = service("Service_HTTP", port, pool={"use": "/Common/Shared/pool_c"})
    body = framed(adc(Common=common, one=tenant(web=application(**{LISTENER: listener}))))
    answer = await declare(device, body)
    assert [each["message"] for each in answer.document["results"]] == ["success", "success"], answer.text
    assert await count(port, 2) == {"a": 2}
    answer = await declare(device, framed(adc(one=body["declaration"]["one"])))
    assert answer.document["results"][0]["message"] == "no change"
