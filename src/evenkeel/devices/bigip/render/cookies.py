"""Encryption of cookies that clients get, by an enhanced service's part ``cookie_encryption``. Pure.

Cookies of members are encrypted by the listener's http profile, the cookie of session persistence by its own profile.
F5's manuals do not say whether the code of an iRule or policy sees a cookie encrypted, so a listener cannot do both
with one cookie.
"""

from collections.abc import Sequence

from evenkeel.config.esd.parts import Parts
from evenkeel.core.devices.service import ServiceDefinition, ServiceListener, ServicePool
from evenkeel.devices.bigip.cookie_secret import OPTION_NAME, CookieSecret, EncryptedCookies
from evenkeel.devices.bigip.render.l7.effective import Routing
from evenkeel.devices.bigip.render.l7.persistence import same_persistence
from evenkeel.devices.errors import Unrenderable


def cookie_encryption(
    service: ServiceDefinition, routes: Routing, parts: Parts, secret: CookieSecret | None
) -> EncryptedCookies | None:
    """Return the encryption of the listener's cookies; None without that part of an enhanced service.

    Raises :class:`Unrenderable` if the agent has no secret, or code must read a cookie that would be
    encrypted.
    """
    wanted = parts.cookie_encryption
    if wanted is None:
        return None
    listener = routes.listener
    if secret is None:
        raise Unrenderable(f"listener {listener.id}: cookie_encryption: the agent's option {OPTION_NAME} is not set")
    _refuse_chosen_persistence(listener, routes.pools)
    of_persistence = {name for pool in routes.pools if (name := _persistence_cookie(pool, "HTTP_COOKIE"))}
    # those of persistence have a profile of their own
    cookies = tuple(sorted(set(wanted.cookies) - of_persistence))
    if read := sorted(_cookies_read_by_code(listener, parts, routes.pools) & set(cookies)):
        raise Unrenderable(
            f"listener {listener.id}: cookie_encryption: cookie {read[0]!r}: a BIG-IP cannot encrypt a cookie that"
            " l7rules, rate limits or persistence APP_COOKIE of the listener read"
        )
    return EncryptedCookies(
        cookies=cookies, passphrase=secret.passphrase(service.load_balancer_id), digest=secret.digest
    )


def _refuse_chosen_persistence(listener: ServiceListener, pools: Sequence[ServicePool]) -> None:
    """Raise :class:`Unrenderable` if the iRule chooses the persistence of each request, because then it sets
    plain cookies.
    """
    by_cookie = [pool for pool in pools if _persistence_type(pool) == "HTTP_COOKIE"]
    if by_cookie and not same_persistence(pools):
        raise Unrenderable(
            f"listener {listener.id}: cookie_encryption: pool {by_cookie[0].id}: session_persistence HTTP_COOKIE is"
            " encrypted only if all pools of the listener and its l7policies have the same"
        )


def _cookies_read_by_code(listener: ServiceListener, parts: Parts, pools: Sequence[ServicePool]) -> set[str]:
    """Return the names of cookies whose values decide something in a policy or iRule of the listener."""
    rules = (rule for policy in listener.l7policies for rule in policy.rules)
    found = {rule.key for rule in rules if rule.type == "COOKIE"}
    found.update(_persistence_cookie(pool, "APP_COOKIE") for pool in pools)
    if parts.rate_limit is not None:
        found.add(parts.rate_limit.cookie)
    return {name for name in found if name}


def _persistence_cookie(pool: ServicePool, kind: str) -> str | None:
    wanted = pool.session_persistence
    return wanted.cookie_name if wanted is not None and wanted.type == kind else None


def _persistence_type(pool: ServicePool) -> str:
    return pool.session_persistence.type if pool.session_persistence is not None else ""
