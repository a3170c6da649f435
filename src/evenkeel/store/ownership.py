"""The ownership part of the SQL store: sessions, shards, reports, scheduling, sweeping.

This is where two processes meet. Any two operations may run at the same moment in different controllers; each is
one transaction that names what it saw, and the database's clock alone says what has expired.
"""

from evenkeel.store.ownership_findings import FindingsPart
from evenkeel.store.ownership_observed import ObservedPart
from evenkeel.store.ownership_placing import PlacingPart
from evenkeel.store.ownership_reach import ReachPart
from evenkeel.store.ownership_reports import ReportsPart
from evenkeel.store.ownership_scheduling import SchedulingPart
from evenkeel.store.ownership_services import ServicesPart
from evenkeel.store.ownership_sessions import SessionsPart
from evenkeel.store.ownership_shards import ShardsPart
from evenkeel.store.ownership_stock import StockPart
from evenkeel.store.ownership_sweeping import SweepingPart


class OwnershipPart(
    SessionsPart,
    ShardsPart,
    ServicesPart,
    ReportsPart,
    ObservedPart,
    FindingsPart,
    SchedulingPart,
    PlacingPart,
    StockPart,
    ReachPart,
    SweepingPart,
):
    """Implements :class:`evenkeel.core.ports.OwnershipStore`."""
