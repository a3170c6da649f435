"""Reads a partition of a device with f5-sdk, bigrest and Ansible: `reader.py PORT`, in the clients' environment.

Each line of standard input names a partition and one of standard output tells what there is: `sdk`: type -> name ->
attributes, read by f5-sdk (those of types that it lacks by bigrest); `bigrest`: the same of virtual servers and pools;
`ansible`: what the module bigip_device_info makes of them.
"""

import json
import sys
import warnings
from collections.abc import Callable
from typing import Any

warnings.simplefilter("ignore")

from ansible_modules import run  # noqa: E402
from bigrest.bigip import BIGIP  # noqa: E402
from f5.bigip import ManagementRoot  # noqa: E402

Objects = dict[str, dict[str, Any]]
PORT = int(sys.argv[1])
SDK: dict[str, Callable[[Any], Any]] = {
    "ltm/virtual": lambda tm: tm.ltm.virtuals,
    "ltm/virtual-address": lambda tm: tm.ltm.virtual_address_s,
    "ltm/pool": lambda tm: tm.ltm.pools,
    "ltm/rule": lambda tm: tm.ltm.rules,
    "ltm/policy": lambda tm: tm.ltm.policys,
    "ltm/data-group/internal": lambda tm: tm.ltm.data_group.internals,
    "ltm/monitor/http": lambda tm: tm.ltm.monitor.https,
    "ltm/monitor/https": lambda tm: tm.ltm.monitor.https_s,
    "ltm/monitor/tcp": lambda tm: tm.ltm.monitor.tcps,
    "ltm/monitor/udp": lambda tm: tm.ltm.monitor.udps,
    "ltm/monitor/gateway-icmp": lambda tm: tm.ltm.monitor.gateway_icmps,
    "ltm/profile/http": lambda tm: tm.ltm.profile.https,
    "ltm/profile/tcp": lambda tm: tm.ltm.profile.tcps,
    "ltm/profile/udp": lambda tm: tm.ltm.profile.udps,
    "ltm/profile/sctp": lambda tm: tm.ltm.profile.sctps,
    "ltm/profile/fastl4": lambda tm: tm.ltm.profile.fastl4s,
    "ltm/profile/client-ssl": lambda tm: tm.ltm.profile.client_ssls,
    "ltm/profile/server-ssl": lambda tm: tm.ltm.profile.server_ssls,
    "ltm/persistence/cookie": lambda tm: tm.ltm.persistence.cookies,
    "ltm/persistence/source-addr": lambda tm: tm.ltm.persistence.source_addrs,
    "ltm/persistence/universal": lambda tm: tm.ltm.persistence.universals,
    "sys/file/ssl-cert": lambda tm: tm.sys.file.ssl_certs,
    "sys/file/ssl-key": lambda tm: tm.sys.file.ssl_keys,
    "sys/file/ssl-crl": lambda tm: tm.sys.file.ssl_crls,
}
BIGREST_ONLY = ("ltm/cipher/rule", "ltm/cipher/group")
BOTH = ("ltm/virtual", "ltm/pool")
SUBSETS = ["virtual-servers", "ltm-pools"]
SUBCOLLECTIONS = {"ltm/virtual": ("profiles", "policies"), "ltm/pool": ("members",), "ltm/policy": ("rules",)}


def shown(one: Any) -> dict[str, Any]:
    """Without what the client itself adds, such as its objects for subcollections."""
    return {name: value for name, value in one.raw.items() if name != "_meta_data" and not name.endswith("_s")}


def below(one: Any, name: str) -> list[dict[str, Any]]:
    """A subcollection, and what policies have below their rules."""
    found = []
    for child in getattr(one, f"{name}_s").get_collection():
        more = {part: below(child, part) for part in ("actions", "conditions")} if name == "rules" else {}
        found.append({**shown(child), **more})
    return found


def by_sdk(tm: Any, kind: str, partition: str) -> Objects:
    collection = SDK[kind](tm)
    parameters = {"params": f"$filter=partition+eq+{partition}"}
    objects: Objects = {}
    for one in collection.get_collection(requests_params=parameters):
        more = {name: below(one, name) for name in SUBCOLLECTIONS.get(kind, ())}
        objects[one.name] = {**shown(one), **more}
    return objects


def by_bigrest(device: BIGIP, kind: str, partition: str) -> Objects:
    found = device.load(f"/mgmt/tm/{kind}?$filter=partition+eq+{partition}")
    # an empty collection has no items, and so counts as an object with bigrest
    return {one.properties["name"]: one.properties for one in found} if isinstance(found, list) else {}


def by_ansible(partition: str) -> dict[str, Any]:
    provider = {
        "server": "127.0.0.1", "server_port": PORT, "user": "admin", "password": "admin", "validate_certs": False,
        "no_f5_teem": True, "timeout": 60,
    }  # fmt: skip
    told = run("bigip_device_info", {"gather_subset": SUBSETS, "partition": partition, "provider": provider})
    return {
        "msg": told.get("msg", ""),
        **{
            name: {one["name"]: one for one in told.get(name) or () if one["full_path"].startswith(f"/{partition}/")}
            for name in ("virtual_servers", "ltm_pools")
        },
    }


def main() -> None:
    root = ManagementRoot("127.0.0.1", "admin", "admin", port=PORT, token=True)
    device = BIGIP(f"127.0.0.1:{PORT}", "admin", "admin", request_token=True, session_verify=False)
    for line in sys.stdin:
        partition = line.strip()
        sdk = {kind: by_sdk(root.tm, kind, partition) for kind in SDK}
        sdk.update({kind: by_bigrest(device, kind, partition) for kind in BIGREST_ONLY})
        told = {
            "sdk": sdk,
            "bigrest": {kind: by_bigrest(device, kind, partition) for kind in BOTH},
            "ansible": by_ansible(partition),
        }
        print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
