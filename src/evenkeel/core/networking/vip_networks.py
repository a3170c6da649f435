"""Networks and subnets that VIPs of an environment may be on."""

from collections.abc import Sequence

from evenkeel.core.kit.errors import Invalid
from evenkeel.core.kit.values import Value
from evenkeel.core.resources.model import Subnet

NOT_ALLOWED = "vip_network_not_allowed"
"""Code of the refusal of a VIP for its network or subnet."""
IDS_SHOWN = 5
"""Number of allowed ids that a refusal names."""


class VipNetworks(Value):
    """Ids of networks and subnets that VIPs may, and must not, be on; each id may be that of the subnet or of
    its network.
    """

    allowed: tuple[str, ...] = ()
    """Ids of networks and subnets that VIPs may be on; empty: all."""
    denied: tuple[str, ...] = ()
    """Ids of networks and subnets that VIPs must not be on, even if allowed."""

    def allows(self, *, network_id: str, subnet_id: str) -> bool:
        """Whether a VIP may be on this subnet of this network."""
        place = {network_id, subnet_id}
        return place.isdisjoint(self.denied) and (not self.allowed or not place.isdisjoint(self.allowed))

    def select_allowed(self, subnets: Sequence[Subnet], field: str, value: str) -> list[Subnet]:
        """Return the subnets out of ``subnets`` that VIPs may be on, in their order; empty if there are no
        ``subnets``. Raises :class:`Invalid` with code :data:`NOT_ALLOWED`, naming ``field`` and its
        ``value``, if all are refused.
        """
        chosen = [each for each in subnets if self.allows(network_id=each.network_id, subnet_id=each.id)]
        if subnets and not chosen:
            raise self._refusal_of_network(subnets[0].network_id, subnets[0].id, field, value)
        return chosen

    def check(self, *, network_id: str, subnet_id: str, field: str, value: str) -> None:
        """Raise :class:`Invalid` with code :data:`NOT_ALLOWED`, naming ``field`` and its ``value``, if no VIP
        may be on this subnet of this network.
        """
        if not self.allows(network_id=network_id, subnet_id=subnet_id):
            raise self._refusal_of_network(network_id, subnet_id, field, value)

    def _refusal_of_network(self, network_id: str, subnet_id: str, field: str, value: str) -> Invalid:
        # Of the denied ids only the request's own one is named: the others may be networks that the tenant cannot see.
        denied = next((each for each in (subnet_id, network_id) if each in self.denied), None)
        rules = [] if denied is None else [f"{denied} is denied"]
        rules += [f"allowed are networks or subnets {_shortened_ids(self.allowed)}"] if self.allowed else []
        return Invalid(
            f"Invalid input for field/attribute {field}. Value: '{value}'. "
            f"The provider allows no VIPs there: {'; '.join(rules)}.",
            code=NOT_ALLOWED,
        )


ANYWHERE = VipNetworks()


def _shortened_ids(ids: Sequence[str]) -> str:
    more = len(ids) - IDS_SHOWN
    return ", ".join(ids[:IDS_SHOWN]) + (f" and {more} more" if more > 0 else "")
