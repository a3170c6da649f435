"""The kernel's connection table: how full it is, and flows for which it had no place or no port.

Both are silent for clients and members: the kernel drops the first packet of a new flow.
"""

from pathlib import Path

from evenkeel.core.kit.values import Value
from evenkeel.haproxyd.layer4.forwarding import PROC_SYS_DIR
from evenkeel.haproxyd.layer4.netlink import CONNTRACK, NetfilterSocket

COUNT, MAXIMUM = "net/netfilter/nf_conntrack_count", "net/netfilter/nf_conntrack_max"
FULL_PERCENT, RELIEVED_PERCENT = 90, 80
_GET_CPU_STATISTICS = 4
_INSERT_FAILED, _DROPPED = 9, 10


class FlowTableState(Value):
    """State of the kernel's connection table: number and maximum of flows. ``failed``: new flows dropped
    since the host started, because no port or no place was free.
    """

    count: int
    maximum: int
    failed: int


def read_flow_table(netfilter: NetfilterSocket, proc: Path = PROC_SYS_DIR) -> FlowTableState:
    """Read how full the kernel's connection table is. Blocks. Raises :class:`OSError`, or :class:`ValueError`
    if the kernel's files have no numbers.
    """
    count, maximum = (int((proc / name).read_text()) for name in (COUNT, MAXIMUM))
    failed = sum(
        int.from_bytes(processor.get(number, b""), "big")
        for processor in netfilter.dump(CONNTRACK, _GET_CPU_STATISTICS)
        for number in (_INSERT_FAILED, _DROPPED)
    )
    return FlowTableState(count=count, maximum=maximum, failed=failed)


class FlowTableWatch:
    """Decides when the connection table needs a warning: once when it is 90 % full, again after it was below
    80 %, and for each increase of dropped flows.
    """

    def __init__(self) -> None:
        self._failed: int | None = None
        self._is_full = False
        self.dropped = 0
        """Number of flows that were dropped between the last two calls of ``new_warnings``."""

    def new_warnings(self, current_state: FlowTableState) -> tuple[str, ...]:
        """Compare the table's state with that of the last call, set ``dropped``, and return warnings for
        operators; empty: none.
        """
        percent = current_state.count * 100 // max(current_state.maximum, 1)
        texts: list[str] = []
        if percent >= FULL_PERCENT and not self._is_full:
            texts.append(
                f"the connection table has {current_state.count} of {current_state.maximum} flows;"
                " further ones will be dropped"
            )
        self._is_full = percent >= (RELIEVED_PERCENT if self._is_full else FULL_PERCENT)
        self.dropped = 0 if self._failed is None else max(current_state.failed - self._failed, 0)
        if self.dropped:
            texts.append(
                f"{self.dropped} new flows were dropped: no free port towards a member, or no place in the table"
            )
        self._failed = current_state.failed
        return tuple(texts)
