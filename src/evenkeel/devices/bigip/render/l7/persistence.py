"""Session persistence where a listener's requests reach several pools. Pure.

On the device a virtual server has persistence, in the API a pool. If all pools that requests can reach have the same
persistence, the virtual server's profile serves all; otherwise the iRule sets it for each request, as far as a command
can.
"""

from collections.abc import Sequence

from evenkeel.core.devices.service import ServicePool
from evenkeel.devices.bigip.render.persistence import has_different_weights
from evenkeel.devices.errors import Unrenderable

NONE, SOURCE, COOKIE, APP_COOKIE, HASH, PORT_HASH = "none", "source", "cookie", "app_cookie", "hash", "port_hash"
_COOKIES = {"HTTP_COOKIE": COOKIE, "APP_COOKIE": APP_COOKIE}
_CHOOSES_BY_CLIENT = ("SOURCE_IP", "SOURCE_IP_PORT")


def same_persistence(pools: Sequence[ServicePool]) -> bool:
    """Whether all these pools have the same session persistence; True for none or one."""
    return all(_persistence_settings(pool) == _persistence_settings(pools[0]) for pool in pools)


def sets_app_cookies(pools: Sequence[ServicePool]) -> bool:
    """Whether the iRule must read and learn applications' cookies, because the pools differ in session
    persistence and at least one uses such a cookie. Raises :class:`Unrenderable` as
    :func:`persistence_keyword_and_cookie` if the pools differ.
    """
    return not same_persistence(pools) and any(persistence_keyword_and_cookie(pool)[0] == APP_COOKIE for pool in pools)


def persistence_keyword_and_cookie(pool: ServicePool) -> tuple[str, str]:
    """Return the keyword by which the iRule selects the pool's persistence, and the cookie's name; empty for
    a default name, or without a cookie.

    Raises :class:`Unrenderable` for persistence that only a profile can provide.
    """
    wanted, weighted = pool.session_persistence, has_different_weights(pool)
    if wanted is None:
        by_source = SOURCE if weighted else HASH
        by_port = NONE if weighted else PORT_HASH
        return {"SOURCE_IP": by_source, "SOURCE_IP_PORT": by_port}.get(pool.lb_algorithm, NONE), ""
    if wanted.type == "SOURCE_IP" and not (wanted.persistence_timeout or wanted.persistence_granularity):
        return SOURCE, ""
    if (word := _COOKIES.get(wanted.type)) and pool.lb_algorithm not in _CHOOSES_BY_CLIENT:
        return word, wanted.cookie_name or ""
    raise Unrenderable(
        f"pool {pool.id}: session_persistence {wanted.type} with lb_algorithm {pool.lb_algorithm}: another pool of the"
        " listener and its l7policies has other persistence; a cookie with an algorithm that does not choose by client,"
        " SOURCE_IP without options, or none are possible then on a BIG-IP"
    )


def _persistence_settings(pool: ServicePool) -> object:
    by_client = pool.lb_algorithm if pool.lb_algorithm in _CHOOSES_BY_CLIENT else ""
    return pool.session_persistence, by_client, bool(by_client) and has_different_weights(pool)
