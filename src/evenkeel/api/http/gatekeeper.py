"""Authentication, rate limit and authorization of every request before its handler runs."""

from collections.abc import Iterable

from litestar.types import HTTPScope

from evenkeel.api.http.protocol import CONNECTION
from evenkeel.api.http.rate_limit import RateLimit
from evenkeel.api.http.request_log import CALLER
from evenkeel.api.http.routing import RouteMap
from evenkeel.api.identity.caller import Authenticator, Caller, Headers, peer_of
from evenkeel.api.policy.names import PUBLIC, UNLIMITED_RATE
from evenkeel.api.policy.policy import AdmittedCaller, Policy
from evenkeel.api.responses.errors import Forbidden
from evenkeel.core.kit.request_context import record_request_user


class CallerPermissions:
    """Answers questions about one caller by the policy."""

    def __init__(self, policy: Policy, caller: Caller) -> None:
        self._policy = policy
        self._caller = caller

    def permits(self, rule: str) -> bool:
        """Whether the rule allows the caller for every project."""
        try:
            return self._policy.admit(rule, self._caller).scope is None
        except Forbidden:
            return False

    def roles_of(self, rule: str) -> tuple[str, ...]:
        """Return the roles that the rule and the rules it refers to name."""
        return self._policy.roles_of(rule)


class Gatekeeper:
    """Authentication, rate limit and authorization of requests."""

    def __init__(
        self, identity: Authenticator, policy: Policy, rate_limit: RateLimit, routes: Iterable[RouteMap]
    ) -> None:
        """Initialize the gatekeeper. Raises :class:`ValueError` for a route without a policy rule."""
        names = {operation.rule for route_map in routes for operation in route_map.operations}
        policy.check_rules_exist((names - {PUBLIC}) | {UNLIMITED_RATE})
        self._identity = identity
        self._policy = policy
        self._rate_limit = rate_limit

    async def admit(self, rule: str, headers: Headers, scope: HTTPScope) -> AdmittedCaller:
        """Authenticate a request, count it against the rate limit unless the policy exempts the caller, and
        authorize it; returns the admitted caller, and stores the caller in the scope's state and for the
        log.

        Raises :class:`Refusal` (401, 403, 429), :class:`Unavailable`, and :class:`Invalid` for credentials
        with values that are not allowed.
        """
        caller = await self._identity.identify(headers, scope)
        connection = scope["state"].get(CONNECTION)
        if connection is not None:
            connection.mark_authenticated()
        # before authorization: requests that the policy refuses use up the project's rate, too
        if not self._policy.allows(UNLIMITED_RATE, caller):
            self._rate_limit.count_request(caller.project_id)
        # before authorization: the log names the caller of a refused request, too
        scope["state"][CALLER] = caller
        record_request_user(
            name=caller.user_name,
            user_id=caller.user_id,
            project_id=caller.project_id,
            address=peer_of(scope).host,
        )
        return self._policy.admit(rule, caller)

    def permissions(self, scope: HTTPScope) -> CallerPermissions | None:
        """Return the policy's permissions for the caller of an admitted request; None: the route is public."""
        caller = scope["state"].get(CALLER)
        return None if caller is None else CallerPermissions(self._policy, caller)
