"""Looking for lost ports of VIPs: page by page, until a search is complete."""

from collections.abc import Collection, Sequence

from evenkeel.controller.settings import ControllerSettings
from evenkeel.controller.vip_port_search import VipPortSearch
from evenkeel.core.networking.network import VipPortId


class Parts:
    """Store, network service and what is told of lost ports."""

    def __init__(self, *pages: tuple[VipPortId, ...], gone: Collection[str]) -> None:
        self.pages = list(pages)
        self.gone = gone
        self.asked: list[list[str]] = []
        self.lost: list[str] = []
        self.told: list[str] = []

    async def take_ports_to_check(self, *, older_seconds: float, limit: int) -> tuple[VipPortId, ...]:
        assert older_seconds == 7.0 and limit > 0
        return self.pages.pop(0) if self.pages else ()

    async def find_existing_ports(self, port_ids: Collection[str]) -> frozenset[str]:
        self.asked.append(list(port_ids))
        return frozenset(port_ids) - frozenset(self.gone)

    async def record_lost_ports(self, ports: Sequence[VipPortId]) -> tuple[str, ...]:
        self.lost += [each.port_id for each in ports]
        return tuple(each.load_balancer_id for each in ports)

    def update_soon(self, load_balancer_id: str) -> None:
        self.told.append(load_balancer_id)


def port(name: str) -> VipPortId:
    return VipPortId(load_balancer_id=f"lb-{name}", port_id=name)


async def test_all_pages_are_looked_for_and_what_is_gone_is_noted() -> None:
    it = Parts((port("a"), port("b")), (port("c"),), gone=["b", "c", "z"])
    await VipPortSearch(it, it, it, ControllerSettings(port_search_seconds=7.0)).query_due()  # type: ignore[arg-type]
    assert it.asked == [["a", "b"], ["c"]]
    assert (it.lost, it.told) == (["b", "c"], ["lb-b", "lb-c"])
