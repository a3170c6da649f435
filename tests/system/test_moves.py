"""Moves of load balancers to another device group, with agents and controllers that die at every write."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from evenkeel.core.control import moves
from evenkeel.core.control.moves import Move, MoveStep, MovingLoadBalancer, Transition
from evenkeel.core.control.shards import ShardOwner
from evenkeel.core.kit.errors import Conflict, NotFound
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.store.moves import advance
from tests.system.moving_world import MovingWorld
from tests.system.world import ENVIRONMENT
from tests.waiting import eventually

SOURCE, TARGET = ("h0", "h1"), ("k0", "k1")
HOSTS = SOURCE + TARGET


async def started(made: MovingWorld) -> MovingWorld:
    await made.start(controllers=2, agents=2)
    for host in TARGET:
        await made.start_agent(host)
    return made


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[MovingWorld]:
    yield (made := await started(MovingWorld(tmp_path)))
    await made.close()


@pytest.fixture
async def listening(tmp_path: Path) -> AsyncIterator[MovingWorld]:
    """Devices that answer only what is routed to them, as HAProxy's."""
    yield (made := await started(MovingWorld(tmp_path, listens=True)))
    await made.close()


async def step(world: MovingWorld, id_: str, wanted: MoveStep) -> bool:
    return (await world.progress(id_)).step is wanted


async def gone(world: MovingWorld, id_: str) -> bool:
    try:
        await world.root(id_)
    except NotFound:
        return True
    return False


async def test_a_project_moves_and_never_two_device_groups_answer(world: MovingWorld) -> None:
    ids = await world.created("p1", 3)
    await world.move("p1", *ids)
    await eventually(lambda: world.moved(*ids))  # settled: one side is left
    for id_ in ids:
        assert world.holders("p1", id_) == {2: True}
        assert (await world.progress(id_)).gap_seconds is not None
    assert not world.conflicts


async def test_new_load_balancers_of_a_moved_project_follow_it(world: MovingWorld) -> None:
    ids = await world.created("p1")
    await world.move("p1", *ids)
    await eventually(lambda: world.moved(*ids))  # settled: one side is left
    new = await world.create("p1")
    await eventually(lambda: world.active(new))  # settled: its devices hold it
    assert world.holders("p1", new) == {2: True}


async def test_a_change_during_a_move_reaches_the_new_devices(world: MovingWorld) -> None:
    (id_,) = await world.created("p1")
    for host in TARGET:
        world.views[host].cut_off = True
    await world.move("p1", id_)
    await world.rename(id_, "changed")
    await eventually(lambda: world.active(id_))  # settled: the others are cut off
    assert world.holders("p1", id_) == {1: True}
    for host in TARGET:
        world.views[host].cut_off = False
    await eventually(lambda: world.moved(id_))  # settled: one side is left
    assert world.memories[2].partitions["p1"].holds[id_].name == "changed"


@pytest.mark.parametrize("victims", [SOURCE[:1], TARGET[:1], (SOURCE[0], TARGET[0])])
async def test_agents_that_die_at_any_write_of_a_move(world: MovingWorld, victims: tuple[str, ...]) -> None:
    (id_,) = await world.created("p1")
    here, there = (1, "h0"), (2, "k0")
    for number in range(1, 7):
        begun = world.writes

        def before(count: int, at: int = begun + number) -> None:
            if count == at:
                for host in victims:
                    world.die(host)

        world.before_write = before
        await world.move("p1", id_, to=there[0], home=there[1])
        await eventually(lambda: world.moved(id_))  # settled: one side is left
        assert world.holders("p1", id_) == {there[0]: True}
        world.before_write = lambda _count: None
        await world.restarted(*HOSTS)
        here, there = there, here
    assert not world.conflicts


async def test_a_controller_that_dies_in_each_step(world: MovingWorld) -> None:
    (id_,) = await world.created("p1")
    target = 2
    for number, wanted in enumerate((MoveStep.PREPARING, MoveStep.STOPPING, MoveStep.STARTING, MoveStep.CLEANING)):
        await world.move("p1", id_, to=target, home="k0" if target == 2 else "h0")
        await eventually(lambda wanted=wanted: step_reached(world, id_, wanted), every_seconds=0.001)
        await world.controllers.pop(f"c{number}").stop()
        await world.start_controller(f"c{number + 2}")
        await eventually(lambda: world.moved(id_))  # settled: one side is left
        assert world.holders("p1", id_) == {target: True}
        target = 3 - target
    assert not world.conflicts


async def test_new_history_of_the_database_in_each_step(world: MovingWorld) -> None:
    (id_,) = await world.created("p1")
    target = 2
    for wanted in (MoveStep.PREPARING, MoveStep.STOPPING, MoveStep.STARTING, MoveStep.CLEANING):
        await world.move("p1", id_, to=target, home="k0" if target == 2 else "h0")
        await eventually(lambda wanted=wanted: step_reached(world, id_, wanted), every_seconds=0.001)
        await world.store.operators.renew_history()
        await eventually(lambda: world.moved(id_))  # settled: one side is left
        assert world.holders("p1", id_) == {target: True}
        target = 3 - target
    assert not world.conflicts


async def step_reached(world: MovingWorld, id_: str, wanted: MoveStep) -> bool:
    steps = list(MoveStep)
    return steps.index((await world.progress(id_)).step) >= steps.index(wanted)


async def test_target_that_refuses_leaves_everything_as_it_was(world: MovingWorld) -> None:
    (id_,) = await world.created("p1")
    for host in TARGET:
        world.views[host].refuses = "no room"
    await world.move("p1", id_)
    await eventually(lambda: step_back(world, id_))
    for host in TARGET:
        world.views[host].refuses = ""
    await eventually(lambda: world.moved(id_))  # settled: one side is left
    found = await world.progress(id_)
    assert (found.back, found.reason) == (True, "no room")
    assert world.holders("p1", id_) == {1: True}
    assert await world.active(id_)


async def test_source_that_does_not_confirm_that_it_stopped_serves_again(
    world: MovingWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moves, "STOPPING_SECONDS", 5.0)
    (id_,) = await world.created("p1")
    for host in SOURCE:
        world.views[host].frozen = True
    await world.move("p1", id_)
    await eventually(lambda: step(world, id_, MoveStep.STOPPING))
    await eventually(lambda: step_back(world, id_))
    for host in SOURCE:
        world.views[host].frozen = False
    await eventually(lambda: world.moved(id_))  # settled: one side is left
    assert (await world.progress(id_)).back
    assert world.holders("p1", id_) == {1: True}
    assert not world.conflicts


async def test_target_that_fails_after_the_switch_gives_it_back(world: MovingWorld) -> None:
    (id_,) = await world.created("p1")

    def before(_count: int) -> None:
        partition = world.memories[2].partitions.get("p1")
        if partition is not None and id_ in partition.holds:
            for host in TARGET:
                world.views[host].refuses = "broken"

    world.before_write = before
    await world.move("p1", id_)
    await eventually(lambda: step_back(world, id_))
    world.before_write = lambda _count: None
    for host in TARGET:
        world.views[host].refuses = ""
    await eventually(lambda: world.moved(id_))  # settled: one side is left
    assert world.holders("p1", id_) == {1: True}
    assert not world.conflicts


async def step_back(world: MovingWorld, id_: str) -> bool:
    return (await world.progress(id_)).back


@pytest.mark.parametrize("wanted", [MoveStep.PREPARING, MoveStep.STOPPING, MoveStep.STARTING])
async def test_operator_wants_it_back(world: MovingWorld, wanted: MoveStep) -> None:
    (id_,) = await world.created("p1")
    frozen = SOURCE if wanted is MoveStep.STOPPING else TARGET
    if wanted is not MoveStep.STARTING:
        for host in frozen:
            world.views[host].frozen = True
    await world.move("p1", id_)
    if wanted is MoveStep.STARTING:
        freeze_after_copy(world, id_)
    await eventually(lambda: step(world, id_, wanted), every_seconds=0.001)
    for change in await world.store.operators.end_move(LoadBalancerId(id_), back=True):
        world.controllers["c0"]._hints.notify_change(change)
    world.before_write = lambda _count: None
    for host in HOSTS:
        world.views[host].frozen = False
        world.views[host].cut_off = False
    await eventually(lambda: world.moved(id_))  # settled: one side is left
    assert world.holders("p1", id_) == {1: True}
    assert not world.conflicts


def freeze_after_copy(world: MovingWorld, id_: str) -> None:
    """The target takes its copy, and nothing later."""

    def before(_count: int) -> None:
        partition = world.memories[2].partitions.get("p1")
        if partition is not None and id_ in partition.holds:
            for host in TARGET:
                world.views[host].cut_off = True

    world.before_write = before


@pytest.mark.parametrize("wanted", [MoveStep.PREPARING, MoveStep.STOPPING, MoveStep.STARTING, MoveStep.CLEANING])
async def test_a_load_balancer_that_is_deleted_while_it_moves(world: MovingWorld, wanted: MoveStep) -> None:
    (id_,) = await world.created("p1")
    await world.move("p1", id_)
    await eventually(lambda: step_reached(world, id_, wanted), every_seconds=0.001)
    await world.store.tenants.delete_load_balancer(id_, project_id=None, cascade=True)
    await eventually(lambda: gone(world, id_))
    await eventually(lambda: world.holders("p1", id_) == {})  # settled: nobody answers any more
    assert not world.conflicts


async def test_devices_that_answer_only_what_is_routed_to_them_serve_both(listening: MovingWorld) -> None:
    world = listening
    (id_,) = await world.created("p1")
    await world.move("p1", id_)
    await eventually(lambda: world.moved(id_))  # settled: one side is left
    found = await world.progress(id_)
    assert (found.gap_seconds, world.holders("p1", id_)) == (0.0, {2: True})


async def test_a_second_move_is_refused_while_one_is_under_way(world: MovingWorld) -> None:
    (id_,) = await world.created("p1")
    for host in TARGET:
        world.views[host].cut_off = True
    await world.move("p1", id_)
    with pytest.raises(Conflict, match="is being moved already"):
        await world.move("p1", id_)


async def test_source_that_is_off_is_left_behind_when_an_operator_confirms_it(world: MovingWorld) -> None:
    (id_,) = await world.created("p1")
    for host in SOURCE:
        world.views[host].cut_off = True
    await world.move("p1", id_)
    for waiting in (MoveStep.STOPPING, MoveStep.CLEANING):
        await eventually(lambda waiting=waiting: step(world, id_, waiting))
        await world.store.operators.end_move(LoadBalancerId(id_), back=False)
    await eventually(lambda: world.moved(id_))  # settled: one side is left
    assert world.holders("p1", id_)[2]
    world.conflicts.clear()
    for host in SOURCE:
        world.views[host].cut_off = False
    shard_id = (await world.progress(id_)).source_shard_id
    owners = [
        ShardOwner(shard_id=shard_id, environment=ENVIRONMENT, group_number=1, host=await world.host_of(shard_id))
    ]
    # Else its next complete pass finds the remainder.
    await world.controllers["c0"].driver.request_full_resync(owners)
    await eventually(lambda: world.holders("p1", id_) == {2: True})


def unverified(move: Move, lb: MovingLoadBalancer, now: float) -> Transition | None:
    """A bug: the target answers before the source has confirmed that it stopped."""
    if move.step is MoveStep.STOPPING:
        lb = replace(lb, applied_revision=lb.revision, provisioning_status=moves.ProvisioningStatus.ACTIVE)
    return moves.next_transition(move, lb, now)


async def test_two_that_answer_are_seen(world: MovingWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    (id_,) = await world.created("p1")
    monkeypatch.setattr(advance, "next_transition", unverified)
    for host in SOURCE:
        world.views[host].frozen = True
    await world.move("p1", id_)
    await eventually(lambda: bool(world.conflicts))
