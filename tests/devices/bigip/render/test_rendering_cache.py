import msgspec

from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.devices.bigip.naming import BigIpNames
from evenkeel.devices.bigip.objects import RenderedObjects
from evenkeel.devices.bigip.render.load_balancer import render_load_balancer
from evenkeel.devices.bigip.render.rendering_cache import RenderingCache
from tests.devices.services import service


class Counting:
    """Renders, and counts."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, one: ServiceDefinition) -> RenderedObjects:
        self.count += 1
        return render_load_balancer(one, BigIpNames(environment="dev", prefix="dev", group=1))


def again(one: ServiceDefinition) -> ServiceDefinition:
    """An equal definition, as it arrives the next time."""
    return msgspec.json.decode(msgspec.json.encode(one), type=ServiceDefinition)


def test_an_equal_definition_is_rendered_once() -> None:
    kept, counting = RenderingCache(), Counting()
    first = kept.get_or_render(service(), "settings", counting)
    assert kept.get_or_render(again(service()), "settings", counting) is first
    assert counting.count == 1


def test_a_changed_definition_or_setting_is_rendered_again() -> None:
    kept, counting = RenderingCache(), Counting()
    first = kept.get_or_render(service(), "settings", counting)
    assert kept.get_or_render(service(revision=2), "settings", counting) is not first
    assert kept.get_or_render(service(revision=2), "others", counting).objects
    assert counting.count == 3


def test_renderings_beyond_the_limit_go_the_least_recently_used_first() -> None:
    kept, counting = RenderingCache(2), Counting()
    for number in (1, 2, 1, 3, 1, 2):
        kept.get_or_render(service(number), None, counting)
    assert (len(kept), counting.count) == (2, 4)


def test_problems_and_deleted_load_balancers_are_not_kept() -> None:
    kept, counting = RenderingCache(), Counting()
    kept.get_or_render(service(), None, counting)
    kept.get_or_render(msgspec.structs.replace(service(), deleted=True, listeners=(), pools=()), None, counting)
    assert len(kept) == 0
