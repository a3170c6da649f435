"""Extracts network ids from forwarding notifications of Neutron's mechanism driver ``l2population``. Pure.

Every client of Neutron's bus can send such notifications, so nothing but the ids is used.
"""

import re
from collections.abc import Iterable

NETWORKS_MAX = 100
"""Network ids taken from one notification; further networks are read later, with all others."""
CHANGED_ADDRESSES_KEY = "chg_ip"
"""Key in the argument of ``update_fdb_entries`` under which the networks are."""
_ID_PATTERN = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def extract_network_ids(entries: object) -> frozenset[str]:
    """Return the ids of the networks in a forwarding notification, at most :data:`NETWORKS_MAX`; none for
    malformed input.
    """
    if not isinstance(entries, dict):
        return frozenset()
    changed = entries.get(CHANGED_ADDRESSES_KEY)
    # Additions and removals have the network ids as keys; a change of addresses has them one level deeper.
    names: Iterable[object] = [*entries, *(changed if isinstance(changed, dict) else ())]
    found = sorted(name for name in names if isinstance(name, str) and _ID_PATTERN.fullmatch(name))
    return frozenset(found[:NETWORKS_MAX])
