from __future__ import annotations

import pytest

from emulator_tests.client import Client

BASE = "https://localhost/mgmt/tm"


async def test_create_answers_the_whole_object_with_defaults(device: Client) -> None:
    pool = await device.post("ltm/pool", {"name": "web", "partition": "P", "monitor": "http"})
    assert pool["kind"] == "tm:ltm:pool:poolstate"
    assert pool["fullPath"] == "/P/web"
    assert pool["selfLink"] == f"{BASE}/ltm/pool/~P~web?ver=16.1.2"
    assert pool["loadBalancingMode"] == "round-robin"
    assert pool["monitor"] == "/Common/http"
    assert pool["membersReference"] == {
        "link": f"{BASE}/ltm/pool/~P~web/members?ver=16.1.2",
        "isSubcollection": True,
    }


async def test_members_are_created_inline_and_never_echoed(device: Client) -> None:
    members = [{"name": "10.1.0.1:80"}, "10.1.0.2:http", {"name": "2001:db8::1.443"}]
    pool = await device.post("ltm/pool", {"name": "web", "partition": "P", "members": members})
    assert "members" not in pool
    listed = await device.get("ltm/pool/~P~web/members")
    assert listed["kind"] == "tm:ltm:pool:members:memberscollectionstate"
    assert [item["fullPath"] for item in listed["items"]] == ["/P/10.1.0.1:80", "/P/10.1.0.2:80", "/P/2001:db8::1.443"]
    assert [item["address"] for item in listed["items"]] == ["10.1.0.1", "10.1.0.2", "2001:db8::1"]
    assert listed["items"][0]["kind"] == "tm:ltm:pool:members:membersstate"
    assert listed["items"][0]["state"] == "unchecked"


async def test_node_appears_with_member_and_stays_when_the_member_goes(device: Client) -> None:
    await device.post("ltm/pool", {"name": "web", "partition": "P", "members": ["10.1.0.1:80"]})
    await device.delete("ltm/pool/~P~web/members/~P~10.1.0.1:80")
    assert (await device.get("ltm/node/~P~10.1.0.1"))["address"] == "10.1.0.1"
    await device.delete("ltm/node/~P~10.1.0.1")


async def test_named_node_supplies_the_address(device: Client) -> None:
    await device.post("ltm/node", {"name": "web-1", "partition": "P", "address": "10.1.0.7"})
    await device.post("ltm/pool", {"name": "web", "partition": "P"})
    member = await device.post("ltm/pool/~P~web/members", {"name": "/P/web-1:8080"})
    assert member["address"] == "10.1.0.7"


@pytest.mark.parametrize(
    ("sent", "state", "session"),
    [
        ({"state": "user-down", "session": "user-disabled"}, "user-down", "user-disabled"),
        ({"session": "user-disabled"}, "unchecked", "user-disabled"),
        ({"state": "user-up", "session": "user-enabled"}, "unchecked", "user-enabled"),
        ({"state": "down", "session": "monitor-enabled"}, "unchecked", "user-enabled"),
    ],
)
async def test_member_states(device: Client, sent: dict[str, str], state: str, session: str) -> None:
    await device.post("ltm/pool", {"name": "web", "partition": "P", "members": ["10.1.0.1:80"]})
    member = await device.patch("ltm/pool/~P~web/members/~P~10.1.0.1:80", sent)
    assert (member["state"], member["session"]) == (state, session)


async def test_patch_merges_and_replaces_named_lists(device: Client) -> None:
    await device.post("ltm/pool", {"name": "web", "partition": "P", "slowRampTime": 20, "members": ["10.1.0.1:80"]})
    pool = await device.patch("ltm/pool/~P~web", {"load-balancing-mode": "ratio-member", "members": ["10.1.0.2:80"]})
    assert (pool["slowRampTime"], pool["loadBalancingMode"]) == (20, "ratio-member")
    listed = await device.get("ltm/pool/~P~web/members")
    assert [item["name"] for item in listed["items"]] == ["10.1.0.2:80"]


@pytest.mark.parametrize("method", ["PATCH", "PUT"])
async def test_emptied_optional_lists_are_left_out(device: Client, method: str) -> None:
    await device.post("net/vlan", {"name": "lan", "partition": "P"})
    lists = {
        "persist": ["cookie"], "rules": ["/Common/_sys_https_redirect"], "metadata": [{"name": "m", "value": "1"}],
        "vlans": ["/P/lan"],
    }  # fmt: skip
    body = {"name": "v", "partition": "P", "destination": "10.0.0.1:80", "profiles": ["http"], "vlansEnabled": True}
    assert set(await device.post("ltm/virtual", {**body, **lists})) >= set(lists)
    empty: dict[str, object] = {name: [] for name in lists}
    for shown in (await device._good(method, "ltm/virtual/~P~v", empty), await device.get("ltm/virtual/~P~v")):
        assert not [name for name in shown if name.removesuffix("Reference") in lists]
    created = await device.post("ltm/virtual", {"name": "w", "partition": "P", **empty})
    assert not set(lists) & set(created)


async def test_lists_a_profile_shows_empty_stay_shown(device: Client) -> None:
    profile = await device.post("ltm/profile/http", {"name": "h", "partition": "P", "encryptCookies": ["a"]})
    assert profile["encryptCookies"] == ["a"]
    assert (await device.patch("ltm/profile/http/~P~h", {"encryptCookies": []}))["encryptCookies"] == []


async def test_put_resets_what_is_not_named_and_ignores_read_only_fields(device: Client) -> None:
    await device.post("ltm/pool", {"name": "web", "partition": "P", "slowRampTime": 20, "description": "old"})
    whole = await device.get("ltm/pool/~P~web")
    del whole["slowRampTime"], whole["description"]
    pool = await device.put("ltm/pool/~P~web", {**whole, "reselectTries": 3})
    assert (pool["slowRampTime"], pool["reselectTries"]) == (10, 3)
    assert "description" not in pool


async def test_generation_rises_with_each_change(device: Client) -> None:
    before = await device.post("ltm/pool", {"name": "web", "partition": "P"})
    after = await device.patch("ltm/pool/~P~web", {"description": "x"})
    assert after["generation"] > before["generation"]
    assert after["description"] == "x"
    assert "description" not in await device.patch("ltm/pool/~P~web", {"description": ""})


async def test_bare_name_means_common_and_percent_is_encoded(device: Client) -> None:
    await device.post("ltm/pool", {"name": "web"})
    assert (await device.get("ltm/pool/web"))["fullPath"] == "/Common/web"
    assert "items" not in await device.get("ltm/pool/~Common~web/members/")
    await device.post("net/route-domain", {"name": "rd5", "partition": "P", "id": 5})
    node = await device.post("ltm/node", {"name": "10.0.0.1%5", "partition": "P", "address": "10.0.0.1%5"})
    assert node["selfLink"] == f"{BASE}/ltm/node/~P~10.0.0.1%255?ver=16.1.2"
    assert (await device.get("ltm/node/~P~10.0.0.1%255"))["name"] == "10.0.0.1%5"


async def test_virtual_attaches_profiles_and_makes_its_address(device: Client) -> None:
    await device.post("ltm/pool", {"name": "web", "partition": "P"})
    body = {"name": "v", "partition": "P", "destination": "10.0.0.1:80", "pool": "web", "profiles": ["http"]}
    virtual = await device.post("ltm/virtual", body)
    assert virtual["destination"] == "/P/10.0.0.1:80"
    assert virtual["mask"] == "255.255.255.255"
    assert virtual["source"] == "0.0.0.0/0"
    assert virtual["ipProtocol"] == "tcp"
    assert (virtual["enabled"], virtual["vlansDisabled"]) == (True, True)
    assert virtual["poolReference"] == {"link": f"{BASE}/ltm/pool/~P~web?ver=16.1.2"}
    profiles = (await device.get("ltm/virtual/~P~v/profiles"))["items"]
    assert [(item["fullPath"], item["context"]) for item in profiles] == [
        ("/Common/http", "all"),
        ("/Common/tcp", "all"),
    ]
    assert (await device.get("ltm/virtual-address/~P~10.0.0.1"))["autoDelete"] == "true"
    await device.delete("ltm/virtual/~P~v")
    assert (await device.send("GET", "ltm/virtual-address/~P~10.0.0.1")).status == 404


async def test_virtual_without_profiles_gets_fastl4(device: Client) -> None:
    virtual = await device.post("ltm/virtual", {"name": "v", "partition": "P", "destination": "/P/2001:db8::1.80"})
    assert virtual["ipProtocol"] == "any"
    assert virtual["source"] == "::/0"
    expanded = await device.get("ltm/virtual/~P~v?expandSubcollections=true")
    assert expanded["selfLink"] == f"{BASE}/ltm/virtual/~P~v?expandSubcollections=true&ver=16.1.2"
    assert [item["name"] for item in expanded["profilesReference"]["items"]] == ["fastL4"]


@pytest.mark.parametrize("place", [{"partition": "/"}, {"subPath": "/"}, {"partition": "top", "subPath": "/"}])
async def test_top_folder_is_a_partition_however_it_is_written(device: Client, place: dict[str, str]) -> None:
    folder = await device.post("sys/folder", {"name": "top", **place})
    assert (folder["fullPath"], folder["subPath"]) == ("/top", "/")
    assert (await device.get("auth/partition/top"))["name"] == "top"
    below = await device.post("sys/folder", {"name": "low", "partition": "top"})
    assert below["fullPath"] == "/top/low"


async def test_presence_flags_exclude_each_other(device: Client) -> None:
    await device.post("ltm/virtual", {"name": "v", "partition": "P"})
    virtual = await device.patch("ltm/virtual/~P~v", {"disabled": True})
    assert virtual["disabled"] is True
    assert "enabled" not in virtual
    virtual = await device.patch("ltm/virtual/~P~v", {"enabled": True})
    assert "disabled" not in virtual


async def test_snat_and_persistence_references_are_doubled(device: Client) -> None:
    await device.post("ltm/snatpool", {"name": "s", "partition": "P", "members": ["10.9.0.1"]})
    virtual = await device.post(
        "ltm/virtual",
        {
            "name": "v", "partition": "P", "destination": "10.0.0.1:80", "profiles": ["http"], "persist": ["cookie"],
            "sourceAddressTranslation": {"type": "snat", "pool": "s"}, "fallbackPersistence": "source_addr",
        },
    )  # fmt: skip
    assert virtual["sourceAddressTranslation"]["pool"] == "/P/s"
    assert virtual["sourceAddressTranslation"]["poolReference"]["link"].startswith(f"{BASE}/ltm/snatpool/~P~s")
    assert virtual["persist"][0]["nameReference"]["link"].startswith(f"{BASE}/ltm/persistence/cookie/~Common~cookie")
    assert virtual["fallbackPersistence"] == "/Common/source_addr"
    assert (await device.get("ltm/snat-translation/~P~10.9.0.1"))["address"] == "10.9.0.1"
    virtual = await device.patch("ltm/virtual/~P~v", {"sourceAddressTranslation": {"type": "automap"}})
    assert virtual["sourceAddressTranslation"] == {"type": "automap"}


async def test_unset_values_of_a_child_profile_follow_its_parent(device: Client) -> None:
    await device.post("ltm/profile/http", {"name": "base", "partition": "P", "insertXforwardedFor": "enabled"})
    await device.post("ltm/profile/http", {"name": "child", "partition": "P", "defaultsFrom": "base"})
    assert (await device.get("ltm/profile/http/~P~child"))["insertXforwardedFor"] == "enabled"
    await device.patch("ltm/profile/http/~P~base", {"insertXforwardedFor": "disabled"})
    child = await device.get("ltm/profile/http/~P~child")
    assert child["insertXforwardedFor"] == "disabled"
    assert child["defaultsFrom"] == "/P/base"
    assert child["enforcement"]["maxHeaderCount"] == 64


@pytest.mark.parametrize(
    "kind",
    ["client-ssl", "server-ssl", "fastl4", "fasthttp", "udp", "tcp", "sip", "diameter", "dhcpv4", "dhcpv6", "http"],
)
async def test_every_kind_of_profile_has_its_builtin(device: Client, kind: str) -> None:
    listed = await device.get(f"ltm/profile/{kind}")
    assert listed["kind"] == f"tm:ltm:profile:{kind}:{kind}collectionstate"
    assert listed["items"][0]["kind"] == f"tm:ltm:profile:{kind}:{kind}state"
    assert listed["items"][0]["fullPath"].startswith("/Common/")


async def test_data_group_records_are_sorted_and_edited_by_options(device: Client) -> None:
    body = {"name": "dg", "partition": "P", "type": "string", "records": [{"name": "b", "data": "2"}, "a"]}
    group = await device.post("ltm/data-group/internal", body)
    assert group["records"] == [{"name": "a", "data": ""}, {"name": "b", "data": "2"}]
    path = "ltm/data-group/internal/~P~dg?options=records%20add%20%7B%20c%20%7B%20data%203%20%7D%20%7D"
    group = await device.patch(path, {})
    assert [record["name"] for record in group["records"]] == ["a", "b", "c"]
    answer = await device.send("PATCH", "ltm/data-group/internal/~P~dg?options=records+delete+%7B+zz+%7B+%7D+%7D", {})
    assert (answer.status, answer.message) == (
        404,
        "01020036:3: The requested class string item (/P/dg zz) was not found.",
    )


async def test_policy_is_edited_as_draft_and_used_when_published(device: Client) -> None:
    await device.post("ltm/pool", {"name": "web", "partition": "P"})
    rule = {
        "name": "r1", "ordinal": 1, "conditions": [{"name": "0", "httpHost": True, "values": ["a"]}],
        "actions": [{"name": "0", "forward": True, "select": True, "pool": "/P/web"}],
    }  # fmt: skip
    draft = await device.post("ltm/policy", {"name": "p", "partition": "P", "subPath": "Drafts", "rules": [rule]})
    assert draft["status"] == "draft"
    await device.post("ltm/policy", {"command": "publish", "name": "/P/Drafts/p"})
    published = await device.get("ltm/policy/~P~p?expandSubcollections=true")
    assert published["status"] == "published"
    action = published["rulesReference"]["items"][0]["actionsReference"]["items"][0]
    assert action["pool"] == "/P/web"
    assert action["poolReference"]["link"].startswith(f"{BASE}/ltm/pool/~P~web")
    assert action["expirySecs"] == 0
    assert (await device.send("GET", "ltm/policy/~P~Drafts~p")).status == 404
    refused = await device.send("PATCH", "ltm/policy/~P~p", {"description": "x"})
    assert refused.status == 400
    await device.patch("ltm/policy/~P~p", {"createDraft": True})
    assert (await device.get("ltm/policy/~P~Drafts~p/rules/r1"))["ordinal"] == 1


async def test_folder_as_f5_openstack_agent_sends_it(device: Client) -> None:
    body = {"name": "top", "subPath": "/", "fullPath": "/top", "hidden": False, "inheritedDevicegroup": True}
    traffic = {"inheritedTrafficGroup": False, "trafficGroup": "/Common/traffic-group-local-only"}
    folder = await device.post("sys/folder", {**body, **traffic})
    assert (folder["fullPath"], folder["hidden"], folder["inheritedTrafficGroup"]) == ("/top", "false", "false")
    assert folder["trafficGroup"] == traffic["trafficGroup"]


async def test_folders_and_partitions_are_one_tree(device: Client) -> None:
    folder = await device.get("sys/folder/~P")
    assert (folder["fullPath"], folder["subPath"]) == ("/P", "/")
    await device.post("sys/folder", {"name": "Q", "partition": "/"})
    assert (await device.get("auth/partition/Q"))["fullPath"] == "Q"
    await device.delete("auth/partition/Q")
    assert (await device.send("GET", "sys/folder/~Q")).status == 404
    assert (await device.get("sys/folder/~"))["fullPath"] == "/"


async def test_networks(device: Client) -> None:
    vlan = await device.post(
        "net/vlan", {"name": "v", "partition": "P", "interfaces": [{"name": "1.1", "tagged": True}]}
    )
    assert vlan["tag"] == 4094
    own = await device.post("net/self", {"name": "s", "partition": "P", "address": "10.0.0.1/24", "vlan": "v"})
    assert own["vlan"] == "/P/v"
    refused = await device.send("DELETE", "net/vlan/~P~v")
    assert (refused.status, "cannot be deleted because it is in use by a self IP" in refused.message) == (400, True)
    await device.post("net/route", {"name": "r", "partition": "P", "gw": "10.0.0.254", "network": "default"})
    await device.delete("net/route/~P~r")
    await device.delete("net/self/~P~s")
    await device.delete("net/vlan/~P~v")


# -- queries


async def test_filter_select_and_paging(device: Client) -> None:
    for number in range(5):
        await device.post("ltm/pool", {"name": f"p{number}", "partition": "P"})
    await device.post("ltm/pool", {"name": "other"})
    listed = await device.get("ltm/pool?$filter=partition+eq+P&$select=name")
    assert listed["items"] == [{"name": f"p{number}"} for number in range(5)]
    page = await device.get("ltm/pool?$filter=partition%20eq%20P&$top=2&$skip=2")
    assert [item["name"] for item in page["items"]] == ["p2", "p3"]
    assert (page["totalItems"], page["totalPages"], page["pageIndex"], page["currentItemCount"]) == (5, 3, 2, 2)
    assert page["nextLink"] == f"{BASE}/ltm/pool?$filter=partition%20eq%20P&$top=2&$skip=4&ver=16.1.2"
    last = await device.get("ltm/pool?$filter=partition+eq+P&$top=2&$skip=6")
    assert last["items"] == []
    assert "nextLink" not in last


async def test_organising_collections_and_system_answers(device: Client) -> None:
    assert (await device.get("sys/"))["kind"] == "tm:sys:syscollectionstate"
    persistence = await device.get("ltm/persistence")
    assert persistence["kind"] == "tm:ltm:persistence:persistencecollectionstate"
    assert {"reference": {"link": f"{BASE}/ltm/persistence/cookie?ver=16.1.2"}} in persistence["items"]
    version = await device.get("sys/version")
    values = version["entries"][f"{BASE}/sys/version/0"]["nestedStats"]["entries"]
    assert values["Version"] == {"description": "16.1.2"}
    ready = (await device.get("sys/ready"))["entries"][f"{BASE}/sys/ready/0"]["nestedStats"]["entries"]
    assert {value["description"] for value in ready.values()} == {"yes"}
    provision = {item["name"]: item["level"] for item in (await device.get("sys/provision"))["items"]}
    assert provision["ltm"] == "nominal"
    assert (await device.get("sys/global-settings"))["hostname"] == "bigip-1.localdomain"
    for path in ("/mgmt/shared/echo/available", "/mgmt/tm/sys/available", "/mgmt/shared/echo-query"):
        assert (await device.send("GET", path)).status == 200


async def test_shell(device: Client) -> None:
    run = {"command": "run"}
    assert (await device.post("util/bash", {**run, "utilCmdArgs": "-c 'echo hi'"}))["commandResult"] == "hi\n"
    assert "commandResult" not in await device.post("util/bash", {**run, "utilCmdArgs": "-c 'true'"})
    unknown = await device.post("util/bash", {**run, "utilCmdArgs": "-c 'frob'"})
    assert "command not found" in unknown["commandResult"]
    unbalanced = await device.send("POST", "util/bash", {**run, "utilCmdArgs": "-c 'echo"})
    assert (unbalanced.status, unbalanced.message) == (400, "quotes are not balanced")
