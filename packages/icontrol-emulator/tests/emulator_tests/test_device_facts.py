"""What clients and F5's own functional tests rely on, each by its source, which the code names."""

from __future__ import annotations

from typing import Any

import pytest

from emulator_tests.client import Client
from icontrol_emulator import Emulator
from icontrol_emulator.config.render import item_uri

_CHANGES = ("generation", "lastModified", "lastModifiedTime")


async def test_every_factory_object_is_written_back_and_stays_as_it_was(device: Client, emulator: Emulator) -> None:
    engine = emulator.devices["bigip-1"].engine
    for spec in engine.registry:
        if spec.owner or spec.path.startswith("vcmp/"):
            continue
        for obj in engine.store.top(spec.path):
            uri = item_uri(obj.key)
            before = await device.get(uri)
            await device.put(uri, before)
            after = await device.get(uri)
            shown = [{name: value for name, value in each.items() if name not in _CHANGES} for each in (before, after)]
            assert shown[0] == shown[1], uri


async def test_draft_is_named_with_its_folder(device: Client) -> None:
    made = await device.post("ltm/policy", {"name": "Drafts/x", "partition": "P", "rules": [{"name": "r"}]})
    assert (made["fullPath"], made["subPath"], made["status"]) == ("/P/Drafts/x", "Drafts", "draft")
    await device.post("ltm/policy", {"command": "publish", "name": "/P/Drafts/x"})
    assert (await device.get("ltm/policy/~P~x"))["status"] == "published"


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("Name <mail@site.test>", 200), ("a < b > c", 200), ("<b>", 400), ("</b>", 400), ("<a href=x>", 400),
        ("<br/>", 400), ("<script>", 400),
    ],
)  # fmt: skip
async def test_addresses_of_mail_are_no_html(device: Client, text: str, status: int) -> None:
    answer = await device.send("PATCH", "sys/snmp", {"sysContact": text})
    assert answer.status == status
    if status == 400:
        assert answer.message == "HTML Tag-like Content in the Request URL/Body"


async def _created(device: Client) -> None:
    await device.post("net/vlan", {"name": "v", "partition": "P", "interfaces": ["1.1"]})
    await device.post("net/self", {"name": "s", "partition": "P", "address": "10.7.0.1/24", "vlan": "v"})
    await device.post("net/route", {"name": "r", "partition": "P", "network": "10.8.0.0/16", "gw": "10.7.0.9"})
    await device.post("ltm/pool", {"name": "p", "partition": "P", "members": ["10.9.0.1:80"]})
    await device.post("ltm/data-group/internal", {"name": "d", "partition": "P", "type": "string"})


@pytest.mark.parametrize(
    ("path", "name", "commands"),
    [
        ("net/route/~P~r", "network", "create, list, show"),
        ("ltm/pool/~P~p/members/~P~10.9.0.1:80", "address", "create, edit, list"),
        ("ltm/node/~P~10.9.0.1", "address", "create, edit, list"),
        ("ltm/data-group/internal/~P~d", "type", "create, edit, list"),
    ],
)
async def test_properties_of_a_creation_are_refused_in_a_modification(
    device: Client, path: str, name: str, commands: str
) -> None:
    await _created(device)
    before = await device.get(path)
    refused = await device.send("PATCH", path, {name: before[name], "description": "d"})
    text = f'"{name}" may not be specified in the context of the "modify" command. "{name}" may be specified using the '
    assert (refused.status, refused.message) == (400, f"{text}following commands: {commands}")
    assert await device.get(path) == before
    assert (await device.patch(path, {"description": "d"}))["description"] == "d"
    written = await device.put(path, {**before, "description": "e"})
    assert (written["description"], written[name]) == ("e", before[name])


async def test_virtual_server_is_replaced_without_its_source(device: Client) -> None:
    body = {"name": "v", "partition": "P", "destination": "127.0.0.9:0", "ipProtocol": "tcp", "source": "10.0.0.0/8"}
    await device.post("ltm/virtual", body)
    replaced = await device.put("ltm/virtual/~P~v", {"destination": "127.0.0.9:0", "ipProtocol": "tcp"})
    assert replaced["source"] == "0.0.0.0/0"


async def test_profile_takes_the_place_of_the_one_that_the_device_chose(device: Client) -> None:
    await device.post("ltm/virtual", {"name": "v", "partition": "P"})
    await device.post("ltm/virtual/~P~v/profiles", {"name": "http", "partition": "Common"})
    names = {item["name"] for item in (await device.get("ltm/virtual/~P~v/profiles"))["items"]}
    assert names == {"http", "tcp"}
    await device.post("ltm/virtual", {"name": "w", "partition": "P", "profiles": ["/Common/fastL4"]})
    refused = await device.send("POST", "ltm/virtual/~P~w/profiles", {"name": "http", "partition": "Common"})
    assert "Not Any Of (FastL4 Profile" in refused.message


@pytest.mark.parametrize("kind", ["icmp", "tcp-echo"])
async def test_monitors_without_a_port_have_an_address_or_any_as_their_destination(device: Client, kind: str) -> None:
    made = await device.post(f"ltm/monitor/{kind}", {"name": "m", "partition": "P", "destination": "*"})
    assert made["destination"] == "*"
    assert (await device.patch(f"ltm/monitor/{kind}/~P~m", {"description": "d"}))["destination"] == "*"
    refused = await device.send("POST", f"ltm/monitor/{kind}", {"name": "n", "partition": "P", "destination": "x"})
    assert refused.status == 400


@pytest.mark.parametrize(("version", "status"), [("11.5.0", 400), ("11.6.0", 200), ("16.1.2", 200), ("", 200)])
async def test_versions_of_the_api_before_the_oldest_one_are_refused(device: Client, version: str, status: int) -> None:
    answer = await device.send("GET", f"ltm/pool?ver={version}")
    assert answer.status == status
    if status == 400:
        assert answer.message == "Version 11.5.0 is not supported."
        assert answer.document["kind"] == ":resterrorresponse"


async def test_code_of_a_rule_is_trimmed(device: Client) -> None:
    body = {"name": "i", "partition": "P", "apiAnonymous": "\n  when CLIENT_ACCEPTED { }\n\n"}
    assert (await device.post("ltm/rule", body))["apiAnonymous"] == "when CLIENT_ACCEPTED { }"


async def test_device_that_was_taken_offline_says_so(device: Client) -> None:
    await device.post("sys/failover", {"command": "run", "offline": True})
    assert (await device.get("cm/device/~Common~bigip-1"))["failoverState"] == "forced-offline"
    await device.post("sys/failover", {"command": "run", "online": True})
    assert (await device.get("cm/device/~Common~bigip-1"))["failoverState"] == "active"


async def test_defaults_of_users_and_address_translations(device: Client) -> None:
    body: dict[str, Any] = {"name": "u", "password": "x", "partitionAccess": [{"name": "all", "role": "guest"}]}
    assert (await device.post("auth/user", body))["description"] == "u"
    nat = {"name": "n", "partition": "P", "originatingAddress": "10.1.0.1", "translationAddress": "10.2.0.1"}
    made = await device.post("ltm/nat", nat)
    assert (made["enabled"], made["vlansDisabled"], made["arp"], made["unit"]) == (True, True, "enabled", 1)
    changed = await device.patch("ltm/nat/~P~n", {"enabled": False})
    assert changed["disabled"] is True and "enabled" not in changed


async def test_interface_is_either_tagged_or_untagged(device: Client) -> None:
    await device.post("net/vlan", {"name": "v", "partition": "P", "interfaces": ["1.1"]})
    path = "net/vlan/~P~v/interfaces/1.1"
    refused = await device.send("PUT", path, {"untagged": True, "tagged": True, "tagMode": "service"})
    assert (refused.status, "may not be specified with" in refused.message) == (400, True)
    tagged = await device.put(path, {"tagged": True, "tagMode": "service"})
    assert (tagged["tagged"], "untagged" in tagged) == (True, False)
    assert (await device.put(path, {"untagged": True}))["untagged"] is True


@pytest.mark.parametrize(("name", "port"), [("https", 443), ("radius", 1812), ("syslog", 514), ("webcache", 8080)])
async def test_ports_may_be_named(device: Client, name: str, port: int) -> None:
    await device.post("ltm/pool", {"name": "p", "partition": "P", "members": [f"10.9.0.1:{name}"]})
    [member] = (await device.get("ltm/pool/~P~p/members"))["items"]
    assert member["name"] == f"10.9.0.1:{port}"


@pytest.mark.parametrize(
    ("line", "printed"),
    [
        ("echo a b | cat", "a b\n"), ("cat /VERSION | grep Version", "Version: 16.1.2\n"),
        ("tail -n 1 /VERSION", "Build: 0.0.18\n"), ("tail -1 /VERSION", "Build: 0.0.18\n"),
        ("cat /nowhere", "cat: /nowhere: No such file or directory\n"),
        ("tail /nowhere", "tail: cannot open `/nowhere' for reading: No such file or directory\n"),
        ("cat /var/config/rest/downloads/f", "one\ntwo\n"),
    ],
)  # fmt: skip
async def test_shell_reads_files(device: Client, line: str, printed: str) -> None:
    path = "/mgmt/shared/file-transfer/uploads/f"
    assert (await device.send("POST", path, raw=b"one\ntwo\n", **{"Content-Range": "0-7/8"})).status == 200
    answer = await device.post("util/bash", {"command": "run", "utilCmdArgs": f"-c '{line}'"})
    assert answer["commandResult"] == printed


async def test_shell_says_how_long_the_device_is_up(device: Client) -> None:
    answer = await device.post("util/bash", {"command": "run", "utilCmdArgs": "-c uptime"})
    assert " up 1 day" in answer["commandResult"] and "load average" in answer["commandResult"]


async def test_routing_lists_keep_their_entries(device: Client) -> None:
    body = {"name": "l", "partition": "P", "entries": [{"name": "10", "action": "permit", "prefix": "10.0.0.0/8"}]}
    await device.post("net/routing/prefix-list", body)
    shown = await device.get("net/routing/prefix-list/~P~l?expandSubcollections=true")
    assert [item["action"] for item in shown["entriesReference"]["items"]] == ["permit"]


async def test_rules_for_html_share_a_name_space(device: Client) -> None:
    await device.post("ltm/html-rule/tag-remove", {"name": "h", "partition": "P", "match": {"tagName": "b"}})
    clash = await device.send("POST", "ltm/html-rule/tag-append-html", {"name": "h", "partition": "P"})
    assert clash.status == 409


async def test_question_to_name_servers_gets_no_answer(device: Client) -> None:
    answer = await device.post("util/dig", {"command": "run", "utilCmdArgs": "site.test"})
    assert "no servers could be reached" in answer["commandResult"]


async def test_provider_of_logins_is_found_by_the_id_that_a_login_names(device: Client) -> None:
    login = {"username": "admin", "password": "admin", "loginProviderName": "tmos"}
    link = (await device.send("POST", "/mgmt/shared/authn/login", login)).document["loginReference"]["link"]
    [provider] = (await device.get("/mgmt/cm/system/authn/providers/tmos"))["items"]
    assert link.split("/")[-2] == provider["id"]
    users = await device.get(f"/mgmt/cm/system/authn/providers/tmos/{provider['id']}/users")
    assert {item["name"] for item in users["items"]} >= {"admin", "bob"}
    assert (await device.send("GET", "/mgmt/cm/system/authn/providers/tmos/other")).status == 404


@pytest.mark.parametrize("worker", ["downloads", "bulk", "madm"])
async def test_uploaded_file_is_read_in_parts(device: Client, worker: str) -> None:
    path = "/mgmt/shared/file-transfer"
    await device.send("POST", f"{path}/uploads/f", raw=b"abcdef", **{"Content-Range": "0-5/6"})
    answer = await device.send("GET", f"{path}/{worker}/f", **{"Content-Range": "2-3/6"})
    assert (answer.status, answer.text) == (200, "cd")


@pytest.mark.parametrize(
    ("version", "status", "frees"),
    [("16.1.2", 404, True), ("17.1.2", 404, False), ("17.5.1", 404, True), ("21.0.0", 200, True)],
)
async def test_devices_have_the_chosen_release_and_what_came_with_it(version: str, status: int, frees: bool) -> None:
    async with Emulator(["bigip-1"], version=version, data_plane=False) as emulator:
        client = Client(emulator.devices["bigip-1"].url, emulator.ca_file)
        try:
            [entry] = (await client.get("sys/version"))["entries"].values()
            assert entry["nestedStats"]["entries"]["Version"]["description"] == version
            pools = await client.get("ltm/pool")
            assert pools["selfLink"].endswith(f"?ver={version}")
            assert (await client.get("cm/device/~Common~bigip-1"))["version"] == version
            assert (await client.get("sys/db/version.version"))["value"] == version
            [volume] = (await client.get("sys/software/volume"))["items"]
            assert volume["version"] == version
            for kind in ("json", "sse"):
                assert (await client.send("GET", f"ltm/profile/{kind}/~Common~{kind}")).status == status
            assert emulator.devices["bigip-1"].tokens.frees_expired is frees
        finally:
            await client.close()


def test_release_that_there_is_not_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(ValueError, match=r"'9\.9\.9': one of 16\.1\.2, 17\.1\.2"):
        Emulator(["bigip-1"], version="9.9.9")


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("ipip/~Common~dslite", {"defaultsFrom": "/Common/ip4ip6", "dsLite": "enabled", "proto": "IPv4"}),
        ("ipip/~Common~ip6ip4", {"description": "IPv6 in IPv4", "dsLite": "disabled", "proto": "IPv6"}),
        ("gre/~Common~nvgre", {"encapsulation": "nvgre", "rxCsum": "disabled", "txCsum": "disabled"}),
        ("vxlan/~Common~vxlan-gpe", {"encapsulationType": "vxlan-gpe", "floodingType": "multipoint", "port": 4790}),
        ("vxlan/~Common~vxlan-ovsdb", {"floodingType": "replicator", "port": 4789}),
    ],
)
async def test_profiles_of_tunnels_are_those_of_a_recorded_device(
    device: Client, path: str, shown: dict[str, Any]
) -> None:
    profile = await device.get(f"net/tunnels/{path}")
    assert {name: profile[name] for name in shown} == shown
    refused = await device.send("DELETE", f"net/tunnels/{path}")
    assert refused.status == 400


async def test_sizes_of_caches_are_numbers(device: Client) -> None:
    shown = await device.get("ltm/profile/web-acceleration")
    sizes = {item["name"]: (item["cacheSize"], item["metadataCacheMaxSize"]) for item in shown["items"]}
    assert sizes == {
        "apm-enduser-if-cache": (50, 25), "optimized-acceleration": (6144, 25), "optimized-caching": (10, 25),
        "webacceleration": (100, 25),
    }  # fmt: skip


async def test_option_makes_a_draft_of_a_policy(device: Client) -> None:
    await device.post("ltm/policy", {"name": "Drafts/x", "partition": "P"})
    await device.post("ltm/policy", {"command": "publish", "name": "/P/Drafts/x"})
    await device.patch("ltm/policy/~P~x?options=create-draft", {})
    assert (await device.get("ltm/policy/~P~Drafts~x"))["status"] == "draft"
    refused = await device.send("PATCH", "ltm/policy/~P~x?options=other", {})
    assert (refused.status, refused.message) == (400, '"other" unexpected argument')


@pytest.mark.parametrize("kind", ["mysql", "postgresql"])
async def test_monitors_of_databases_compare_one_row_and_column(device: Client, kind: str) -> None:
    body = {"name": "m", "partition": "P", "recvColumn": "2", "recvRow": "1"}
    made = await device.post(f"ltm/monitor/{kind}", body)
    assert (made["recvColumn"], made["recvRow"]) == ("2", "1")


async def test_page_without_objects_has_an_empty_list(device: Client) -> None:
    page = await device.get("ltm/pool?$top=10&$skip=10")
    assert (page["items"], page["currentItemCount"], page["totalItems"]) == ([], 0, 0)
    assert "items" not in await device.get("ltm/pool")


async def test_shell_shows_the_release(device: Client) -> None:
    answer = await device.post("util/bash", {"command": "run", "utilCmdArgs": '-c "tmsh show sys version"'})
    shown = {line.split()[0]: " ".join(line.split()[1:]) for line in answer["commandResult"].splitlines() if line}
    assert (shown["Main"], shown["Product"], shown["Version"]) == ("Package", "BIG-IP", "16.1.2")


async def test_device_says_whether_provisioning_needs_a_reboot(device: Client) -> None:
    assert (await device.get("sys/db/provision.action"))["value"] == "none"


async def test_query_of_installed_packages_finds_none(device: Client) -> None:
    path = "/mgmt/shared/iapp/package-management-tasks"
    created = await device.send("POST", path, {"operation": "QUERY"})
    assert (created.status, created.document["status"]) == (202, "CREATED")
    done = await device.get(f"{path}/{created.document['id']}")
    assert (done["status"], done["queryResponse"]) == ("FINISHED", [])
    assert [item["id"] for item in (await device.get(path))["items"]] == [created.document["id"]]
    for operation in ("INSTALL", "other"):
        assert (await device.send("POST", path, {"operation": operation})).status == 400
    assert (await device.send("GET", f"{path}/other")).status == 404


async def test_application_service_has_a_folder_of_its_own(device: Client) -> None:
    path = "sys/application/service/~P~web.app~web"
    made = await device.post("sys/application/service", {"name": "web", "partition": "P", "template": "f5.http"})
    assert (made["fullPath"], made["subPath"]) == ("/P/web.app/web", "web.app")
    assert (await device.patch(path, {"description": "d"}))["description"] == "d"
    assert (await device.send("GET", "sys/folder/~P~web.app")).status == 200
    await device.delete(path)
    assert (await device.send("GET", "sys/folder/~P~web.app")).status == 404


async def test_replaced_neighbour_keeps_its_address(device: Client) -> None:
    body = {"name": "n", "partition": "P", "ipAddress": "10.8.8.8", "macAddress": "00:11:22:33:44:55"}
    await device.post("net/arp", body)
    replaced = await device.put("net/arp/~P~n", {"macAddress": "00:11:22:33:44:56"})
    assert (replaced["ipAddress"], replaced["macAddress"]) == ("10.8.8.8", "00:11:22:33:44:56")
