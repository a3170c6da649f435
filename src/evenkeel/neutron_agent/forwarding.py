"""Neutron's messages about forwarding entries (its mechanism driver ``l2population``): which networks they are about.
Pure. Everybody on Neutron's bus may send such messages, so nothing else is taken from them."""

import re
from collections.abc import Iterable

NETWORKS_MAX = 100
"""Of one message; the rest is read with all other networks, later."""
CHANGED_ADDRESSES = "chg_ip"
"""The key under which ``update_fdb_entries`` has its networks."""
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def networks_in(entries: object) -> frozenset[str]:
    """Ids of networks. Anything that has not Neutron's form is ignored."""
    if not isinstance(entries, dict):
        return frozenset()
    changed = entries.get(CHANGED_ADDRESSES)
    names: Iterable[object] = [*entries, *(changed if isinstance(changed, dict) else ())]
    found = sorted(name for name in names if isinstance(name, str) and _ID.fullmatch(name))
    return frozenset(found[:NETWORKS_MAX])
