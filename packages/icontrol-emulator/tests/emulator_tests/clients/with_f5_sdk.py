"""Drives a device with f5-sdk 3.0.21, with the interpreter of the clients' environment: `with_f5_sdk.py PORT`.

The client itself compares every answer's `kind` with the one it knows, and follows each `selfLink`.
"""

import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

warnings.simplefilter("ignore")

from f5.bigip import ManagementRoot  # noqa: E402
from f5.bigip.resource import Collection, OrganizingCollection, UnnamedResource  # noqa: E402
from f5.sdk_exception import UnsupportedMethod, UnsupportedOperation  # noqa: E402
from icontrol.exceptions import iControlUnexpectedHTTPError  # noqa: E402

OTHER_MODULES = ("/asm/", "/apm/", "/security/", "/gtm/", "/analytics", "/pem/", "/vcmp/")
NOT_ON_A_DEVICE = {
    "cm/add-to-trust": "a command", "cm/remove-from-trust": "a command", "sys/cluster/default": "chassis only",
    "ltm/profile/certificate-authority": "the client knows a wrong kind", "sys/provision/ili": "the client's error",
    "ltm/profile/classification": "the client knows a wrong kind", "ltm/profile/ramcache": "gone since 11",
    "ltm/profile/response-adapt": "the client knows a wrong kind", "ltm/profile/wa-cache": "gone since 11",
    "ltm/profile/web-acceleration": "the client knows a wrong kind", "sys/provision/vcmp": "hardware only",
    "ltm/profile/web-security": "the client knows a wrong kind", "net/tunnels/tunnel/vxlan": "the client's error",
    "shared/authz/users": "the client knows a wrong kind", "sys/application/aplscript": "the client's error",
    "sys/application/customstat": "the client's error",
}  # fmt: skip


def walk(parent: Any, seen: set[type], failures: list[str]) -> int:
    """Reads every collection and setting that the client knows below `parent`; returns how many."""
    count = 0
    for kind in parent._meta_data.get("allowed_lazy_attributes", []):
        child = getattr(parent, kind.__name__.lower())
        uri = child._meta_data.get("uri", "")
        if any(word in uri for word in OTHER_MODULES) or kind in seen:
            continue
        seen.add(kind)
        try:
            if isinstance(child, OrganizingCollection):
                count += walk(child, seen, failures)
            elif isinstance(child, Collection):
                child.get_collection()
                count += 1 + walk(child, seen, failures)
            elif isinstance(child, UnnamedResource):
                child.load()
                count += 1
        except (UnsupportedMethod, UnsupportedOperation):
            continue
        except Exception as error:
            if uri.partition("/mgmt/")[2].removeprefix("tm/").strip("/") not in NOT_ON_A_DEVICE:
                failures.append(f"{uri}: {error!r}"[:300])
    return count


def traffic(tm: Any) -> None:
    tm.auth.partitions.partition.create(name="sdk", description="own")
    tm.sys.folders.folder.create(name="sdk2", subPath="/")
    node = tm.ltm.nodes.node.create(name="n", partition="sdk", address="10.1.0.1")
    monitor = tm.ltm.monitor.https.http.create(name="m", partition="sdk", interval=7, timeout=22)
    pool = tm.ltm.pools.pool.create(name="p", partition="sdk", monitor="/sdk/m")
    member = pool.members_s.members.create(name="n:80", partition="sdk")
    member.modify(session="user-disabled", state="user-down")
    assert member.session == "user-disabled"
    pool.loadBalancingMode = "ratio-member"
    pool.update()
    pool.refresh()
    assert pool.loadBalancingMode == "ratio-member"
    assert pool.members_s.get_collection()[0].address == "10.1.0.1"
    rule = tm.ltm.rules.rule.create(name="r", partition="sdk", apiAnonymous="when HTTP_REQUEST { pool /sdk/p }")
    tm.ltm.data_group.internals.internal.create(name="d", partition="sdk", type="string", records=[{"name": "a"}])
    tm.ltm.persistence.source_addrs.source_addr.create(name="s", partition="sdk", timeout="60")
    tm.ltm.snatpools.snatpool.create(name="sn", partition="sdk", members=["10.9.0.1"])
    tm.ltm.profile.https.http.create(name="h", partition="sdk", insertXforwardedFor="enabled")
    policy = tm.ltm.policys.policy.create(
        name="lp", subPath="Drafts", partition="sdk", strategy="/Common/first-match", controls=["forwarding"],
        requires=["http"], rules=[{"name": "one", "ordinal": 0, "actions": [{"name": "0", "forward": True, "pool":
        "/sdk/p"}], "conditions": [{"name": "0", "httpUri": True, "path": True, "startsWith": True,
        "values": ["/a"]}]}],
    )  # fmt: skip
    policy.publish()
    virtual = tm.ltm.virtuals.virtual.create(
        name="v", partition="sdk", destination="/sdk/10.2.0.1:80", ipProtocol="tcp", pool="/sdk/p",
        sourceAddressTranslation={"type": "snat", "pool": "/sdk/sn"}, profiles=[{"name": "/sdk/h"}, {"name": "tcp"}],
        rules=["/sdk/r"], persist=[{"name": "s", "partition": "sdk"}],
    )  # fmt: skip
    virtual.policies_s.policies.create(name="lp", partition="sdk")
    assert len(virtual.profiles_s.get_collection()) == 2
    for stated in (virtual, pool, node):
        entries = stated.stats.load().entries
        (first,) = entries.values()
        assert "status.availabilityState" in first["nestedStats"]["entries"], entries
    assert tm.ltm.monitor.https.http.exists(name="m", partition="sdk")
    assert not tm.ltm.pools.pool.exists(name="none", partition="sdk")
    assert monitor.raw["kind"] == "tm:ltm:monitor:http:httpstate"
    published = tm.ltm.policys.policy.load(name="lp", partition="sdk")
    assert published.status == "published"
    for gone in (virtual, published, rule, pool, monitor):
        gone.delete()


def network(tm: Any) -> None:
    vlan = tm.net.vlans.vlan.create(name="v100", partition="Common", tag=100)
    vlan.interfaces_s.interfaces.create(name="1.1", tagged=True)
    tm.net.selfips.selfip.create(name="s100", partition="Common", vlan="v100", address="10.100.0.1/24")
    tm.net.routes.route.create(name="rt", partition="Common", network="10.200.0.0/16", gw="10.100.0.254")
    tm.net.route_domains.route_domain.create(name="rd", partition="Common", id=33)
    tunnel = tm.net.tunnels.tunnels.tunnel.create(
        name="t", partition="Common", localAddress="10.100.0.1", profile="vxlan", key=5
    )
    fdb = tm.net.fdb.tunnels.tunnel.load(name="t", partition="Common")
    fdb.modify(records=[{"name": "02:00:00:00:00:01", "endpoint": "10.100.0.9"}])
    record = fdb.records_s.records.load(name="02:00:00:00:00:01")
    assert record.endpoint == "10.100.0.9"
    record.modify(endpoint="10.100.0.8")
    fdb.records_s.records.create(name="02:00:00:00:00:02", endpoint="10.100.0.8")
    assert {one.endpoint for one in fdb.records_s.get_collection()} == {"10.100.0.8"}
    record.delete()
    assert not fdb.records_s.records.exists(name="02:00:00:00:00:01")
    tm.net.arps.arp.create(
        name="10.100.0.7", partition="Common", ipAddress="10.100.0.7", macAddress="02:00:00:00:00:07"
    )
    assert tm.net.interfaces.interface.load(name="1.1").mtu == 9198
    tunnel.refresh()


def transactions(root: Any) -> None:
    with_transaction = root.tm.transactions.transaction
    from f5.bigip.contexts import TransactionContextManager

    with TransactionContextManager(with_transaction) as api:
        api.tm.ltm.pools.pool.create(name="tp", partition="sdk")
    assert root.tm.ltm.pools.pool.exists(name="tp", partition="sdk")
    with TransactionContextManager(root.tm.transactions.transaction, validate_only=True) as api:
        api.tm.ltm.pools.pool.create(name="tv", partition="sdk")
    assert not root.tm.ltm.pools.pool.exists(name="tv", partition="sdk")
    try:
        with TransactionContextManager(root.tm.transactions.transaction) as api:
            api.tm.ltm.pools.pool.create(name="tx", partition="sdk", monitor="/sdk/absent")
    except Exception as error:
        assert "transaction failed" in str(error), error
    else:
        raise AssertionError("a transaction with a wrong reference was committed")


def system(root: Any) -> None:
    tm = root.tm
    assert root.tmos_version == "16.1.2"
    assert tm.sys.dbs.db.load(name="setup.run").value == "true"
    tm.auth.users.user.create(name="joe", password="Secret-4711", partitionAccess=[{"name": "all-partitions", "role":
                              "guest"}])  # fmt: skip
    assert tm.cm.devices.get_collection()[0].selfDevice == "true"
    assert tm.sys.memory.load().entries
    assert tm.sys.global_settings.load().hostname
    tm.sys.config.exec_cmd("save")
    assert "hello" in tm.util.bash.exec_cmd("run", utilCmdArgs="-c 'echo hello'").commandResult


def trust(tm: Any) -> None:
    """With the other device that there is, at its management address."""
    told = {"name": "Root", "deviceName": "bigip-2"}
    tm.cm.add_to_trust.exec_cmd("run", device="192.0.2.12", username="admin", password="admin", caDevice=True, **told)
    assert sorted(one.name for one in tm.cm.devices.get_collection()) == ["bigip-1", "bigip-2"]
    tm.cm.remove_from_trust.exec_cmd("run", **told)
    assert [one.name for one in tm.cm.devices.get_collection()] == ["bigip-1"]


def files(root: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        large = Path(folder) / "large"
        large.write_bytes(b"x" * (1024 * 1024 + 1))
        root.shared.file_transfer.uploads.upload_file(str(large))
        listed = root.tm.util.unix_ls.exec_cmd("run", utilCmdArgs="/var/config/rest/downloads")
        assert "large" in listed.commandResult


def main() -> None:
    root = ManagementRoot("127.0.0.1", "admin", "admin", port=int(sys.argv[1]), token=True)
    failures: list[str] = []
    read = walk(root.tm, set(), failures) + walk(root.shared, set(), failures)
    assert not failures, "\n".join(failures)
    assert read > 230, read
    traffic(root.tm)
    network(root.tm)
    transactions(root)
    system(root)
    files(root)
    trust(root.tm)
    try:
        root.tm.ltm.pools.pool.create(name="p", partition="nowhere")
    except iControlUnexpectedHTTPError as error:
        assert error.response.status_code == 400
    print(f"{read} kinds read")


if __name__ == "__main__":
    main()
