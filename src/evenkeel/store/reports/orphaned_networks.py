"""Networks of projects on the devices of a common shard that the shard's definitions do not contain.

They were released while a device was switched off, which still has them: they are removed at once. A database that may
be the wrong one removes none, because load balancers that it lacks may use them.
"""

from sqlalchemy import Connection, select

from evenkeel.core.protocol.messages import ORPHANS_PER_CALL, JudgeOrphans, OrphanVerdict
from evenkeel.store.engine.in_list import in_list
from evenkeel.store.records import schema
from evenkeel.store.records.removal_halt import halts_removal

PAUSE_SECONDS = 60.0
"""Interval between decisions on orphans, while some are being removed or removals are halted."""

_common = schema.common_network


def judge_networks(connection: Connection, call: JudgeOrphans) -> OrphanVerdict:
    """Decide on networks for the owner of the common shard ``call.shard_id``; two queries."""
    found = sorted(set(call.load_balancer_ids))[:ORPHANS_PER_CALL]
    here = _common.c.shard_id == call.shard_id, in_list(_common.c.network_id, found)
    known = set(connection.scalars(select(_common.c.network_id).where(*here)))
    orphans = tuple(one for one in found if one not in known)
    if orphans and halts_removal(connection):
        return OrphanVerdict(kept=dict.fromkeys(orphans), again_seconds=PAUSE_SECONDS)
    return OrphanVerdict(remove=orphans)
