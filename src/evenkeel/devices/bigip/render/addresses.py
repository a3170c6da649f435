"""Addresses of a load balancer: one virtual address for each. Pure.

Names of the VIP's objects have the id of the LBaaS object alone. Objects of an additional VIP also have a digest of the
address in name and mark, so that they stay the same objects when other VIPs come and go.
"""

import hashlib

from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.kit.values import Value
from evenkeel.core.networking.addresses import ALLOWED_WORDS, AddressRules
from evenkeel.devices.bigip.naming import BigIpNames, canonical_address
from evenkeel.devices.bigip.objects import VIRTUAL_ADDRESS, Key, WantedObject
from evenkeel.devices.errors import Unrenderable

IPV4_MASK = "255.255.255.255"
IPV6_MASK = "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"
_DIGEST_DIGITS = 12


class VirtualIp(Value):
    """One address that a load balancer listens on, in canonical form and with its route domain.

    ``digest``: distinguishes additional VIPs in names; empty for the VIP itself.
    """

    address: str
    digest: str = ""

    @property
    def version(self) -> int:
        return 6 if ":" in self.address else 4

    @property
    def mask(self) -> str:
        """Return the netmask of a single address."""
        return IPV6_MASK if self.version == 6 else IPV4_MASK

    def object_name(self, object_id: str, names: BigIpNames) -> str:
        """Return the name of the object that implements ``object_id`` at this address; at the VIP itself
        without a digest.
        """
        return (
            names.auxiliary_object_name(f"vip-{self.digest}", object_id)
            if self.digest
            else names.object_name(object_id)
        )

    def mark_kind(self, kind: str) -> str:
        """Return the kind in the ownership mark of an object at this address: ``kind`` at the VIP, ``kind`` with a
        digest of the address at an additional VIP.
        """
        return f"{kind}-{self.digest}" if self.digest else kind


def virtual_ips(service: ServiceDefinition) -> tuple[VirtualIp, ...]:
    """Return the VIP and then the additional VIPs of a load balancer. Raises :class:`Unrenderable` for a text
    that is no IP address.
    """
    return (
        VirtualIp(address=_canonical_address("vip_address", service.vip.address)),
        *(
            VirtualIp(address=address, digest=hashlib.sha256(address.encode()).hexdigest()[:_DIGEST_DIGITS])
            for address in (_canonical_address("additional_vips", vip.address) for vip in service.additional_vips)
        ),
    )


def _canonical_address(field: str, address: str) -> str:
    try:
        return canonical_address(address)
    except ValueError as error:
        raise Unrenderable(f"{field} {address!r} is no IP address") from error


def virtual_address(service: ServiceDefinition, vip: VirtualIp, names: BigIpNames) -> WantedObject:
    """Build the virtual address of one VIP. The virtual address of a standby (the copy on a second device group)
    neither answers ARP (NDP) nor accepts connections.
    """
    traffic_group = names.traffic_group(service.project_id)
    return WantedObject(
        key=Key(type=VIRTUAL_ADDRESS, name=vip.object_name(service.load_balancer_id, names)),
        owner=service.load_balancer_id,
        attributes={
            "address": vip.address,
            "mask": vip.mask,
            "autoDelete": "false",
            "arp": "disabled" if service.standby else "enabled",
            "enabled": "yes" if service.admin_state_up and not service.standby else "no",
            **({"trafficGroup": traffic_group} if traffic_group else {}),
            "description": names.marked_description(
                vip.mark_kind("loadbalancer"), service.load_balancer_id, service.load_balancer_id
            ),
        },
        immutables=frozenset({"address"}),
    )


def check_addresses(service: ServiceDefinition, rules: AddressRules) -> None:
    """Raise :class:`Unrenderable` if the load balancer has, sends to or checks an address that load balancers must not
    use.
    """
    for field, vip in (("vip_address", service.vip), *(("additional_vips", one) for one in service.additional_vips)):
        if problem := rules.vip_problem(vip.address):
            raise Unrenderable(f"{field} {vip.address!r}: {ALLOWED_WORDS} is allowed; {problem}")
    for member in (member for pool in service.pools for member in pool.members):
        for field, address in (("address", member.address), ("monitor_address", member.monitor_address)):
            if address is not None and (problem := rules.member_problem(address)):
                raise Unrenderable(f"member {member.id}: {field} {address!r}: {ALLOWED_WORDS} is allowed; {problem}")
