#!/bin/sh
# Linux 6.18: a dump of the connection table that is filtered by an IPv6 address selects the flows of all OTHER addresses.
#
# Since 5.8 a program may have the kernel select flows in a dump: attribute CTA_FILTER of IPCTNL_MSG_CT_GET says which parts of the
# given tuple count. Seen: for IPv4 a source or destination address selects the flows that have it; for IPv6 it selects those that
# have it not. A program that ends the flows of one address by such a dump ends everybody else's and keeps these. Ports and protocols
# select as they should. The kernel's ctnetlink_filter_match_tuple leaves a flow out if `!ipv6_addr_cmp(filter, flow)`; the function
# returns 0 for equal addresses, as memcmp does.
#   IPv4, destination 192.0.2.1:   192.0.2.1
#   IPv6, destination 2001:db8::1: 2001:db8::2 2001:db8::3
#   IPv6, source 2001:db8::101:    2001:db8::2 2001:db8::3
#   IPv6, destination port 1001:   2001:db8::1
# Needs Linux with nf_conntrack_netlink, and the right to make a user and a network namespace.
# Exit code 0: still so. 1: the behaviour has changed.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check pyroute2==0.9.7
uname -sr
cat >"$folder/dump.py" <<'PYTHON'
import socket

from pyroute2 import NFCTSocket
from pyroute2.netlink.nfnetlink.nfctsocket import NFCTAttrTuple

ADDRESSES = {socket.AF_INET: "192.0.2.{}", socket.AF_INET6: "2001:db8::{}"}


def flow(family, number):
    """Addresses and ports of a flow, and of its answers."""
    client, server = (ADDRESSES[family].format(last) for last in (100 + number, number))
    ends = {"family": family, "proto": socket.IPPROTO_UDP}
    there = NFCTAttrTuple(saddr=client, daddr=server, sport=5000, dport=1000 + number, **ends)
    back = NFCTAttrTuple(saddr=server, daddr=client, sport=1000 + number, dport=5000, **ends)
    return there, back


def selected(family, **wanted):
    """Destinations of the flows that the kernel selects."""
    name = {socket.AF_INET: "CTA_IP_V4_DST", socket.AF_INET6: "CTA_IP_V6_DST"}[family]
    with NFCTSocket(nfgen_family=family) as table:
        found = table.dump(tuple_orig=NFCTAttrTuple(family=family, proto=socket.IPPROTO_UDP, **wanted))
        return " ".join(sorted(each.get_nested("CTA_TUPLE_ORIG", "CTA_TUPLE_IP", name) for each in found))


for family in ADDRESSES:
    with NFCTSocket(nfgen_family=family) as table:
        for number in (1, 2, 3):
            there, back = flow(family, number)
            table.entry("add", tuple_orig=there, tuple_reply=back, timeout=600)
print("IPv4, destination 192.0.2.1:  ", selected(socket.AF_INET, daddr="192.0.2.1"))
print("IPv6, destination 2001:db8::1:", selected(socket.AF_INET6, daddr="2001:db8::1"))
print("IPv6, source 2001:db8::101:   ", selected(socket.AF_INET6, saddr="2001:db8::101"))
print("IPv6, destination port 1001:  ", selected(socket.AF_INET6, dport=1001))
PYTHON
seen=$(unshare --map-root-user --net "$folder/venv/bin/python" "$folder/dump.py")
echo "$seen"
[ "$seen" = "IPv4, destination 192.0.2.1:   192.0.2.1
IPv6, destination 2001:db8::1: 2001:db8::2 2001:db8::3
IPv6, source 2001:db8::101:    2001:db8::2 2001:db8::3
IPv6, destination port 1001:   2001:db8::1" ] && echo "as found" && exit 0
echo "changed" && exit 1
