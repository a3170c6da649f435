"""Checks whether the DNS allows an authority to issue for all names of a certificate (CAA records), before an
order is made, because authorities count refused orders.
"""

from collections.abc import Mapping

from evenkeel.core.ports import NameResolver
from evenkeel.core.tls.acme.caa import Issuer, caa_lookup_names, caa_problem
from evenkeel.core.tls.acme.names import WILDCARD, without_wildcard
from evenkeel.core.tls.acme.values import ChallengeMethod


class AuthorizationRecords:
    """Checks CAA records of the names of a certificate."""

    def __init__(self, resolver: NameResolver) -> None:
        self._resolver = resolver

    async def issuance_problem(self, methods: Mapping[str, ChallengeMethod], issuer: Issuer) -> str:
        """Return why CAA records forbid the authority to issue; empty if they do not, or if the authority names no CAA
        identity. ``methods``: how each name is proven. Raises :class:`DnsResolverUnavailable`.
        """
        if not issuer.identities:
            return ""
        for name, method in methods.items():
            for asked in caa_lookup_names(without_wildcard(name)):
                records = await self._resolver.caa(asked)
                if not records:
                    continue
                if reason := caa_problem(records, issuer, method=method.value, wildcard=name.startswith(WILDCARD)):
                    return f"The CAA records of {asked} do not allow a certificate for {name}: {reason}."
                break
        return ""
