"""Drives a device with f5-sdk 3.0.21 through the life of an object of each kind that the client knows:
`f5_sdk_lifecycles.py PORT` with the interpreter of the clients' environment. It does with each kind what most of F5's
functional tests do (https://github.com/F5Networks/f5-common-python, f5/**/test/functional): create, update, refresh,
load, modify, exists, delete. The values are the tests' own.

Prints one line for each kind: `lived URI`, or `URI: what went wrong`.
"""

import sys
import warnings
from typing import Any

warnings.simplefilter("ignore")

from f5.bigip import ManagementRoot  # noqa: E402
from f5.bigip.resource import Collection, OrganizingCollection, Resource  # noqa: E402

OTHER_MODULES = ("/asm/", "/apm/", "/security/", "/gtm/", "/analytics", "/pem/", "/vcmp/")
CODE = "when CLIENT_ACCEPTED { }"
NAMES = {
    "ltm/virtual-address": "10.7.7.7", "auth/cert-ldap": "system-auth", "auth/ldap": "system-auth",
    "auth/radius": "system-auth", "auth/tacacs": "system-auth",
}  # fmt: skip
VALUES: dict[str, dict[str, Any]] = {
    "ltm/auth/crldp-server": {"host": "10.1.1.1"},
    "ltm/auth/kerberos-delegation": {"serverPrincipal": "HTTP/a.test", "clientPrincipal": "HTTP/b.test"},
    "ltm/auth/ldap": {"servers": ["10.1.1.1"]},
    "ltm/auth/radius-server": {"secret": "s", "server": "10.1.1.1"},
    "ltm/auth/ssl-cc-ldap": {"servers": ["10.1.1.1"], "userKey": "k"},
    "ltm/auth/tacacs": {"secret": "s", "servers": ["10.1.1.1"], "service": "http"},
    "ltm/data-group/internal": {"records": ["a", "b"], "type": "string"},
    "ltm/monitor/dns": {"qname": "a.test"},
    "ltm/monitor/module-score": {"snmpIpAddress": "10.1.1.1"},
    "ltm/monitor/sasp": {"primaryAddress": "10.1.1.1"},
    "ltm/monitor/virtual-location": {"pool": "pool"},
    "ltm/nat": {"translationAddress": "10.2.2.2", "originatingAddress": "10.3.3.3"},
    "ltm/node": {"address": "10.4.4.4"},
    "ltm/policy": {"strategy": "/Common/first-match", "subPath": "Drafts"},
    "ltm/profile/dns-logging": {"logPublisher": "/Common/local-db-publisher"},
    "ltm/profile/socks": {"dnsResolver": "/Common/f5-aws-dns"},
    "ltm/rule": {"apiAnonymous": CODE},
    "ltm/snat": {"origins": ["10.5.5.5/32"], "translation": "10.5.5.6"},
    "ltm/snatpool": {"members": ["10.6.6.6"]},
    "ltm/traffic-class": {"classification": "t"},
    "ltm/virtual-address": {"address": "10.7.7.7"},
    "net/arp": {"ipAddress": "10.8.8.8", "macAddress": "00:11:22:33:44:55"},
    "net/route": {"network": "10.9.0.0/16", "gw": "10.2.2.9"},
    "net/self": {"address": "10.10.0.1/24", "vlan": "/Common/vlan"},
    "sys/application/service": {"template": "f5.http"},
    "sys/folder": {"subPath": "/"},
    "sys/icall/handler/periodic": {"script": "/Common/script", "interval": 60},
    "sys/icall/handler/perpetual": {"script": "/Common/script"},
    "sys/icall/handler/triggered": {"script": "/Common/script"},
    "sys/icall/istats-trigger": {"istatsKey": "k", "eventName": "e"},
    "sys/log-config/destination/arcsight": {"forwardTo": "/Common/fast"},
    "sys/log-config/destination/ipfix": {"poolName": "/Common/pool"},
    "sys/log-config/destination/management-port": {"port": 514, "ipAddress": "10.1.1.1"},
    "sys/log-config/destination/remote-high-speed-log": {"poolName": "/Common/pool"},
    "sys/log-config/destination/remote-syslog": {"remoteHighSpeedLog": "/Common/fast"},
    "sys/log-config/destination/splunk": {"forwardTo": "/Common/fast"},
    "sys/log-config/filter": {"publisher": "/Common/local-db-publisher"},
    "sys/management-route": {"gateway": "192.0.2.9", "network": "10.20.0.0/16"},
    "sys/sflow/receiver": {"address": "10.1.1.1"},
}
"""What a creation needs beside its name."""
LEFT_OUT = {
    "cm/device": "made by trust",
    "cm/trust-domain": "the client's refusal",
    "ltm/auth/profile": "not modified by the client",
    "ltm/data-group/external": "a file",
    "ltm/ifile": "a file",
    "ltm/profile/classification": "the client's refusal",
    "ltm/profile/ocsp-stapling-params": "the client's error",
    "ltm/profile/web-security": "the client's refusal",
    "net/fdb/tunnel": "made with its tunnel",
    "net/interface": "the client's refusal",
    "net/tunnels/tunnel/vxlan": "the client's error",
    "sys/application/aplscript": "the client's error",
    "sys/application/customstat": "the client's error",
    "sys/crypto/cert": "made from a key",
    "sys/crypto/key": "not emulated: keys are uploaded",
    "sys/db": "the client's refusal",
    "sys/disk/logical-disk": "the client's refusal",
    "sys/management-ip": "its name has a slash, which the client refuses",
}
LEFT_OUT_BELOW = (
    "sys/file/",
    "sys/software/",
    "sys/log-config/destination/alertd",
    "sys/log-config/destination/local-",
)
"""Files are uploaded first; software and local destinations are not created by clients."""


def uri_of(collection: Any) -> str:
    return str(collection._meta_data["uri"]).partition("/mgmt/tm/")[2].strip("/")


def live(collection: Any, kind: type) -> None:
    uri, attribute = uri_of(collection), kind.__name__.lower()
    fresh = getattr(collection, attribute)
    where = {"name": NAMES.get(uri, "life")}
    needed = fresh._meta_data["required_creation_parameters"] | fresh._meta_data["required_load_parameters"]
    if "partition" in needed or uri.startswith("ltm/"):
        where["partition"] = "Common"
    found = {**where, "subPath": "Drafts"} if uri == "ltm/policy" else where
    made = fresh.create(**where, **VALUES.get(uri, {}))
    made.description = "one"
    made.update()
    made.description = "not sent"
    made.refresh()
    assert made.description == "one"
    loaded = getattr(collection, attribute).load(**found)
    assert loaded.selfLink == made.selfLink
    loaded.modify(description="two")
    made.refresh()
    assert made.description == "two"
    assert getattr(collection, attribute).exists(**found)
    made.delete()
    assert made.__dict__ == {"deleted": True}
    assert not getattr(collection, attribute).exists(**found)


def walk(parent: Any, seen: set[type]) -> None:
    for kind in parent._meta_data.get("allowed_lazy_attributes", []):
        child = getattr(parent, kind.__name__.lower())
        uri = child._meta_data.get("uri", "")
        if kind in seen or any(word in uri for word in OTHER_MODULES):
            continue
        seen.add(kind)
        if isinstance(child, OrganizingCollection):
            walk(child, seen)
        elif isinstance(child, Collection):
            for item in child._meta_data.get("allowed_lazy_attributes", []):
                if issubclass(item, Resource):
                    report(child, item)
                else:
                    walk(child, seen)


def report(collection: Any, kind: type) -> None:
    uri = uri_of(collection)
    if uri in LEFT_OUT or uri.startswith(LEFT_OUT_BELOW):
        return
    try:
        live(collection, kind)
        print(f"lived {uri}")
    except Exception as error:
        print(f"{uri}: {error!r}"[-600:])


def main() -> None:
    tm = ManagementRoot("127.0.0.1", "admin", "admin", port=int(sys.argv[1])).tm
    tm.ltm.pools.pool.create(name="pool", partition="Common")
    tm.net.vlans.vlan.create(name="vlan", partition="Common")
    tm.net.selfips.selfip.create(name="near", partition="Common", address="10.2.2.1/24", vlan="/Common/vlan")
    tm.sys.icall.scripts.script.create(name="script", partition="Common", definition="")
    logs = tm.sys.log_config.destination.remote_high_speed_logs.remote_high_speed_log
    logs.create(name="fast", partition="Common", poolName="/Common/pool")
    for module in (tm.ltm, tm.net, tm.sys, tm.auth, tm.cm):
        walk(module, set())


if __name__ == "__main__":
    main()
