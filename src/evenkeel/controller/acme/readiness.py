"""Whether all names of a certificate lead to load balancers of its project that can answer challenges."""

from collections.abc import Mapping

from evenkeel.core.devices.capabilities import Capabilities
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.ports import AcmeStore, NameResolver, OperatorStore
from evenkeel.core.tls.acme.values import AcmeCertificate, AcmeTarget

Targets = Mapping[str, tuple[LoadBalancerId, ...]]
"""Load balancers to which a name leads, by name."""


class NameProof:
    """``capabilities``: by device driver."""

    def __init__(
        self,
        store: AcmeStore,
        operators: OperatorStore,
        resolver: NameResolver,
        capabilities: Mapping[str, Capabilities],
    ) -> None:
        self._store = store
        self._operators = operators
        self._resolver = resolver
        self._capabilities = capabilities

    async def find(self, certificate: AcmeCertificate) -> Targets | str:
        """Return the load balancers of each name, or why a name cannot be proven. Raises :class:`ResolverUnavailable`
        and :class:`StoreUnavailable`.
        """
        resolved: dict[str, tuple[str, ...]] = {}
        for name in certificate.names:
            resolved[name] = await self._resolver.addresses(name)
            if not resolved[name]:
                return f"{name} has no address in the DNS."
        every = sorted({address for addresses in resolved.values() for address in addresses})
        found = await self._store.targets(certificate.project_id, every)
        drivers = {each.name: each.device_driver for each in await self._operators.environments()}
        targets: dict[str, tuple[LoadBalancerId, ...]] = {}
        for name, addresses in resolved.items():
            # The authority may connect to any of the addresses, so all of them have to answer.
            for address in addresses:
                if not any(address in target.addresses for target in found):
                    return f"{name} has the address {address}, which is no VIP of a load balancer of the project."
            own = [target for target in found if set(target.addresses) & set(addresses)]
            for target in own:
                if problem := self._problem_of(target, drivers.get(target.environment, "")):
                    return f"{name} leads to load balancer {target.load_balancer_id}, {problem}."
            targets[name] = tuple(target.load_balancer_id for target in own)
        return targets

    def _problem_of(self, target: AcmeTarget, driver: str) -> str:
        """Why the load balancer cannot answer challenges, as the end of a sentence; empty if it can."""
        table = self._capabilities.get(driver)
        if table is None or not table.http_challenges:
            return f"whose devices ({driver or 'of an unknown type'}) do not answer challenges"
        if target.mirrored:
            return "which only another system changes"
        if not target.placed:
            return "which is not on a device yet"
        if not target.admin_state_up:
            return "which is disabled"
        # Without a listener on the port, devices answer by one of their own.
        if target.port_taken and not target.has_http_listener:
            return "whose listener on port 80 is disabled or of another protocol than HTTP"
        return ""
