"""Two device groups, hosts ``h…`` of group 1 and ``k…`` of group 2, and load balancers that move between them."""

from pathlib import Path

from evenkeel.core.control.move_requests import MoveProgress, MoveRequest
from evenkeel.core.control.moves import MoveStep
from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.kit.ids import AgentId, LoadBalancerId, ProjectId, ShardId
from evenkeel.core.kit.names import default_agent_id
from evenkeel.core.ports import Device
from evenkeel.devices.noop import NoopMemory
from tests.system.world import ENVIRONMENT, HostView, World
from tests.waiting import eventually


class MovingWorld(World):
    """Watches that never both device groups answer for a VIP."""

    def __init__(self, directory: Path, *, listens: bool = False) -> None:
        """``listens``: the devices answer only what is routed to them, so both may."""
        super().__init__(directory)
        self.listens = listens
        self.memories = {1: self.memory, 2: NoopMemory()}
        self.conflicts: list[str] = []
        self.writes = 0
        self.before_write = lambda _number: None
        """Called before each write of a definition, with its number from 1 on."""
        for number, memory in self.memories.items():
            memory.store_definition = self._watched(number, memory)  # type: ignore[method-assign]

    def _watched(self, number: int, memory: NoopMemory):  # type: ignore[no-untyped-def]
        store, other = memory.store_definition, self.memories[3 - number]

        def watched(project_id: ProjectId, service: ServiceDefinition) -> None:
            self.writes += 1
            self.before_write(self.writes)
            store(project_id, service)
            there = other.partitions.get(project_id)
            copy = None if there is None else there.holds.get(service.load_balancer_id)
            if not self.listens and copy is not None and not copy.standby and not service.standby:
                self.conflicts.append(service.load_balancer_id)

        return watched

    def _group_of(self, host: str) -> int:
        return 2 if host.startswith("k") else 1

    def _device_of(self, host: str) -> Device:
        view = self.views[host] = HostView(self.memories[self._group_of(host)], self.reschedule)
        view.contents = self.contents
        return view

    async def move(self, project_id: str, *ids: str, to: int = 2, home: str = "k0") -> None:
        """Begin to move load balancers of a project."""
        request = MoveRequest(
            project_id=ProjectId(project_id),
            environment=ENVIRONMENT,
            group_number=to,
            load_balancer_ids=tuple(map(LoadBalancerId, ids)),
            home_agent_id=AgentId(default_agent_id(ENVIRONMENT, self._group_of(home), home)),
            whole_project=True,
            listening=tuple(map(LoadBalancerId, ids)) if self.listens else (),
            target_listens=self.listens,
        )
        for change in await self.store.operators.begin_moves(request):
            for controller in list(self.controllers.values())[:1]:
                await controller.driver.change_accepted(change)

    async def progress(self, id_: str) -> MoveProgress:
        (found,) = await self.store.operators.moves(load_balancer_id=LoadBalancerId(id_))
        return found

    async def moved(self, *ids: str) -> bool:
        """All moves are done, and the load balancers ACTIVE."""
        steps = [(await self.progress(id_)).step is MoveStep.DONE for id_ in ids]
        return all(steps) and all([await self.active(id_) for id_ in ids])

    def holders(self, project_id: str, id_: str) -> dict[int, bool]:
        """Device groups that hold the load balancer, and whether they answer for its VIP."""
        found: dict[int, bool] = {}
        for number, memory in self.memories.items():
            partition = memory.partitions.get(ProjectId(project_id))
            if partition is not None and (service := partition.holds.get(id_)) is not None:
                found[number] = not service.standby
        return found

    async def host_of(self, shard_id: ShardId) -> str:
        """The host of the agent that acts for the shard."""
        shard = await self.store.operators.shard(shard_id)
        assert shard.acting_agent_id is not None
        return (await self.store.operators.agent(shard.acting_agent_id)).host

    async def restarted(self, *hosts: str) -> None:
        """Agents that were killed run again."""
        for host in hosts:
            if host not in self.tasks:
                await self.start_agent(host)

    def die(self, host: str) -> None:
        """End an agent between two of its steps, without a good-bye."""
        task = self.tasks.pop(host, None)
        if task is not None:
            task.cancel()

    async def drained(self, *hosts: str, undo: bool = False) -> None:
        """These agents get no shards; with ``undo`` they do again."""
        for host in hosts:
            agent_id = default_agent_id(ENVIRONMENT, self._group_of(host), host)
            await self.store.operators.set_agent_admin_state(AgentId(agent_id), undo)

    async def created(self, project_id: str, count: int = 1) -> list[str]:
        """Load balancers that are ACTIVE on group 1, whatever the scheduler would choose."""
        await self.drained("k0", "k1")
        ids = [await self.create(project_id) for _ in range(count)]
        for id_ in ids:
            await eventually(lambda id_=id_: self.active(id_))
        await self.drained("k0", "k1", undo=True)
        return ids
