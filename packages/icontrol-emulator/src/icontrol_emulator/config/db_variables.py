"""sys/db: variables with their factory values and the values that they accept.

A part of the about 1,600 that a device has: those that automation reads or sets. From memory and from F5's manuals.
"""

from __future__ import annotations

from typing import NamedTuple


class DbVariable(NamedTuple):
    value: str
    accepts: str = "string"  # words, or `integer min:LOW max:HIGH`, or `string`


_SWITCH = "disable enable"
_BOOLEAN = "false true"


def _integer(value: int, low: int, high: int) -> DbVariable:
    return DbVariable(str(value), f"integer min:{low} max:{high}")


DB_VARIABLES: dict[str, DbVariable] = {
    "arp.gratuitousrate": _integer(0, 0, 1000),
    "bigd.debug": DbVariable("disable", _SWITCH),
    "config.allow.rfc3927": DbVariable("disable", _SWITCH),
    "config.auditing": DbVariable("enable", "disable enable verbose all"),
    "connection.autolasthop": DbVariable("enable", _SWITCH),
    "connection.vlankeyed": DbVariable("enable", _SWITCH),
    "configsync.allowmanagement": DbVariable("disable", _SWITCH),
    "configsync.timesyncthreshold": _integer(3, 0, 3600),
    "dhclient.mgmt": DbVariable("enable", _SWITCH),
    "dns.cache": DbVariable("enable", _SWITCH),
    "failover.active": DbVariable("true", _BOOLEAN),
    "failover.activetime": _integer(60, 0, 4294967295),
    "failover.bigipunitmask": _integer(1, 0, 3),
    "failover.forceactive": DbVariable("disable", _SWITCH),
    "failover.forcestandby": DbVariable("disable", _SWITCH),
    "failover.isredundant": DbVariable("false", _BOOLEAN),
    "failover.nettimeoutsec": _integer(3, 1, 4294967295),
    "failover.selinuxallowscripts": DbVariable("disable", _SWITCH),
    "failover.standby.linkdowntime": _integer(0, 0, 100),
    "httpd.matchclient": DbVariable("true", _BOOLEAN),
    "icontrol.basic_auth": DbVariable("enable", _SWITCH),
    "icrd.timeout": _integer(60, 1, 3600),
    "iptunnel.mac_learning": DbVariable("enable", _SWITCH),
    "iptunnel.vxlan.udpport": _integer(4789, 1, 65535),
    "log.arp.level": DbVariable("Warning", "Error Warning Informational Debug"),
    "log.ssl.level": DbVariable("Warning", "Error Warning Informational Debug"),
    "merged.method": DbVariable("slow_merge", "fast_merge slow_merge"),
    "pool.globalratio": DbVariable("enable", _SWITCH),
    "provision.1nic": DbVariable("disable", "disable enable forced_enable"),
    "provision.1nicautoconfig": DbVariable("enable", _SWITCH),
    "provision.action": DbVariable("none", "none reboot"),
    "provision.cpu.adcgroup": _integer(0, 0, 100),
    "provision.extramb": _integer(0, 0, 8192),
    "provision.managementeth": DbVariable("eth0"),
    "provision.restjavad.extramb": _integer(192, 192, 4096),
    "provision.tmmcount": _integer(0, 0, 64),
    "provision.tomcat.extramb": _integer(0, 0, 4096),
    "restjavad.timeout": _integer(60, 1, 3600),
    "restjavad.useextramb": DbVariable("false", _BOOLEAN),
    "restnoded.timeout": _integer(60, 1, 3600),
    "rule.validation": DbVariable("strict", "loose strict"),
    "service.ntp.enabled": DbVariable("true", _BOOLEAN),
    "setup.run": DbVariable("true", _BOOLEAN),
    "snat.anyipprotocol": DbVariable("disable", _SWITCH),
    "snat.hosttraffic": DbVariable("enable", _SWITCH),
    "statemirror.clustermirroring": DbVariable("within", "between within"),
    "statemirror.ipaddr": DbVariable("::"),
    "statemirror.secure": DbVariable("disable", _SWITCH),
    "systemauth.disablebash": DbVariable("false", _BOOLEAN),
    "systemauth.disablemanagementportal": DbVariable("false", _BOOLEAN),
    "systemauth.disablerootlogin": DbVariable("false", _BOOLEAN),
    "systemauth.primaryadminuser": DbVariable("admin"),
    "tm.acceptipsourceroute": DbVariable("disable", _SWITCH),
    "tm.allowmulticastl2destinationtraffic": DbVariable("disable", _SWITCH),
    "tm.continuematching": DbVariable("false", _BOOLEAN),
    "tm.maxrejectrate": _integer(250, 1, 1000),
    "tm.minipfragsize": _integer(556, 1, 1480),
    "tm.pathmtudiscovery": DbVariable("enable", _SWITCH),
    "tm.rejectunmatched": DbVariable("true", _BOOLEAN),
    "tmm.lro": DbVariable("enable", _SWITCH),
    "ui.advisory.color": DbVariable("green", "blue green orange red yellow"),
    "ui.advisory.enabled": DbVariable("false", _BOOLEAN),
    "ui.advisory.text": DbVariable("<null>"),
    "ui.system.preferences.advancedselection": DbVariable("basic", "advanced basic"),
    "ui.system.preferences.recordsperscreen": _integer(10, 1, 1000),
    "vlan.mac.assignment": DbVariable("unique", "global unique vmw-compat"),
    "version.product": DbVariable("BIG-IP"),
    "version.version": DbVariable(""),  # the release
    "vlangroup.flow.allocate": DbVariable("enable", _SWITCH),
}


def accepted(accepts: str, value: str) -> bool:
    """Whether a variable with this `valueRange` may be set to the value."""
    if accepts == "string":
        return True
    words = accepts.split()
    if words[0] != "integer":
        return value in words
    low, high = (int(word.partition(":")[2]) for word in words[1:])
    return value.lstrip("-").isdigit() and low <= int(value) <= high
