"""Orphaned networks: networks of projects on devices of a device group that the definitions of its common
shard do not contain.

Such networks were released while a device was switched off, which still has them; they are removed at once. A
database that may be the wrong one removes none, because load balancers that it lacks may use them.
"""

from sqlalchemy import Connection, select

from evenkeel.core.protocol.messages import ORPHANS_PER_CALL, JudgeOrphans, OrphanVerdict
from evenkeel.store.engine.in_list import is_in_list
from evenkeel.store.records import schema
from evenkeel.store.records.removal_halt import read_removal_halted

REMOVAL_PAUSE_SECONDS = 60.0
"""Interval of an agent's requests for a decision on orphans, while some are being removed or removals are halted."""

_common_network = schema.common_network


def decide_orphaned_networks(connection: Connection, call: JudgeOrphans) -> OrphanVerdict:
    """Decide which orphaned networks the owner of the common shard ``call.shard_id`` has to remove: all that
    the shard does not have, or none while removals are halted. At most two queries.
    """
    found = sorted(set(call.load_balancer_ids))[:ORPHANS_PER_CALL]
    here = _common_network.c.shard_id == call.shard_id, is_in_list(_common_network.c.network_id, found)
    known = set(connection.scalars(select(_common_network.c.network_id).where(*here)))
    orphans = tuple(one for one in found if one not in known)
    if orphans and read_removal_halted(connection):
        return OrphanVerdict(kept=dict.fromkeys(orphans), again_seconds=REMOVAL_PAUSE_SECONDS)
    return OrphanVerdict(remove=orphans)
