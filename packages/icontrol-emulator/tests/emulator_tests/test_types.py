"""Every type: listed with its exact kind, and with the factory objects that clients expect."""

from __future__ import annotations

from typing import Any

import pytest

from emulator_tests.client import Client
from icontrol_emulator import Emulator
from icontrol_emulator.config.schema import Scope


async def test_every_type_is_read_with_its_kind(device: Client, emulator: Emulator) -> None:
    registry = emulator.devices["bigip-1"].engine.registry
    for spec in registry:
        if spec.owner or spec.path.startswith("vcmp/"):
            continue
        shown = await device.get(f"{spec.path}?expandSubcollections=true")
        assert isinstance(spec.scope, Scope), spec.path
        scope = "state" if spec.scope is Scope.SINGLE else "collectionstate"
        assert shown["kind"] == f"{spec.kind}{scope}", spec.path
        assert shown["selfLink"].startswith(f"https://localhost/mgmt/tm/{spec.path}?"), spec.path
        for item in shown.get("items", []):
            assert item["kind"] == f"{spec.kind}state", spec.path
            assert item["selfLink"].startswith(f"https://localhost/mgmt/tm/{spec.path}/"), spec.path


async def test_a_profile_of_every_kind_is_made_from_its_factory_parent(device: Client, emulator: Emulator) -> None:
    registry = emulator.devices["bigip-1"].engine.registry
    for spec in registry:
        if spec.inherits and spec.root and spec.path.startswith(("ltm/profile", "ltm/monitor", "ltm/persistence")):
            if spec.path in ("ltm/monitor/none",):
                continue
            body = {"name": f"own-{spec.segment}-{spec.path.split('/')[1]}", "partition": "P"}
            made = await device.post(spec.path, body)
            assert made["defaultsFrom"] == spec.root
            parent = await device.get(f"{spec.path}/{spec.root.replace('/', '~')}")
            kept = {"name", "partition", "fullPath", "generation", "selfLink", "defaultsFrom", "defaultsFromReference"}
            same = {name: value for name, value in parent.items() if name not in kept}
            assert {name: value for name, value in made.items() if name not in kept} == same, spec.path


async def test_sub_collections_of_settings(device: Client) -> None:
    await device.post("sys/snmp/communities", {"name": "c", "partition": "P", "communityName": "own"})
    await device.post("auth/remote-role/role-info", {"name": "r", "attribute": "a=b", "lineOrder": 3})
    snmp = await device.get("sys/snmp?expandSubcollections=true")
    assert [item["communityName"] for item in snmp["communitiesReference"]["items"]] == ["public", "own"]
    roles = await device.get("auth/remote-role?expandSubcollections=true")
    assert roles["roleInfoReference"]["items"][0]["lineOrder"] == 3


async def test_database_variables_take_what_they_accept(device: Client) -> None:
    assert (await device.patch("sys/db/ui.advisory.enabled", {"value": "true"}))["value"] == "true"
    shown = await device.get("sys/db/provision.extramb")
    assert (shown["defaultValue"], shown["valueRange"]) == ("0", "integer min:0 max:8192")
    for name, value in (("ui.advisory.enabled", "perhaps"), ("provision.extramb", "9000"), ("icrd.timeout", "x")):
        answer = await device.send("PATCH", f"sys/db/{name}", {"value": value})
        assert answer.status == 400, name
        assert value in answer.message


async def test_any_file_can_be_stored(device: Client) -> None:
    for type_path in ("data-group", "external-monitor", "ifile", "lwtunneltbl", "ssl-csr"):
        data = f"content of {type_path}".encode()
        headers = {"Content-Range": f"0-{len(data) - 1}/{len(data)}", "Content-Type": "application/octet-stream"}
        await device.send("POST", f"/mgmt/shared/file-transfer/uploads/{type_path}", raw=data, **headers)
        body = {"name": "f", "partition": "P", "sourcePath": f"file:/var/config/rest/downloads/{type_path}"}
        made = await device.post(f"sys/file/{type_path}", body)
        assert (made["size"], made["revision"]) == (len(data), 1)


async def test_selected_properties_are_shown_alone(device: Client) -> None:
    await device.post("ltm/pool", {"name": "p", "partition": "P"})
    listed = await device.get("ltm/pool?$select=name,loadBalancingMode")
    assert set(listed) == {"kind", "selfLink", "items"}
    assert listed["items"] == [{"name": "p", "loadBalancingMode": "round-robin"}]
    assert await device.get("ltm/pool/~P~p?$select=fullPath") == {"fullPath": "/P/p"}


async def test_certificates_are_listed_as_tmsh_does(device: Client) -> None:
    shown = await device.get("sys/crypto/cert/~Common~default.crt")
    assert (shown["kind"], shown["name"]) == ("tm:sys:crypto:cert:certstate", "/Common/default.crt")
    assert (shown["commonName"], shown["apiRawValues"]["publicKeyType"]) == ("localhost.localdomain", "RSA")
    key = await device.get("sys/crypto/key/~Common~default.key")
    assert (key["kind"], key["keyType"]) == ("tm:sys:crypto:key:keystate", "rsa-private")


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("1.1.1.1", ["1.1.1.1/32"]),
        (["10.0.0.0/8", "1.1.1.1"], ["1.1.1.1/32", "10.0.0.0/8"]),
        ([{"name": "2001:db8::/64"}], ["2001:db8::/64"]),
    ],
)
async def test_origins_of_a_snat_are_networks(device: Client, given: Any, shown: list[str]) -> None:
    made = await device.post("ltm/snat", {"name": "s", "automap": True, "origins": given})
    assert made["origins"] == [{"name": name} for name in shown]
    assert (await device.put("ltm/snat/s", made))["origins"] == made["origins"]
    refused = await device.send("PATCH", "ltm/snat/s", {"origins": []})
    assert refused.status == 400 and "one of the following must be specified" in refused.message
    assert (await device.send("PATCH", "ltm/snat/s", {"origins": ["x"]})).status == 400
