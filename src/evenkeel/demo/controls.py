"""Actions offered to a visitor of the demo: kill and freeze agents, cut the device off, and heal everything."""

import asyncio
import signal
from collections.abc import Callable
from typing import Any

from evenkeel.demo.cluster import Cluster, agent_name
from evenkeel.demo.processes import ProcessFailed

CONTROL_ACTIONS = ("kill", "freeze", "cut", "heal")
AGENT_ACTIONS = ("kill", "freeze")


class ActionRefused(Exception):
    """The requested action does not exist, or is not available now."""


class FaultControls:
    """Actions on the processes of one cluster, for visitors. ``hosts``: hosts of the agents; ``say`` prints a
    line.

    ``offered`` is False while the demo runs its scenario, whose outcome the actions would change.
    """

    def __init__(self, cluster: Cluster, hosts: tuple[str, ...], say: Callable[[str], None]) -> None:
        self.offered = False
        self.lock = asyncio.Lock()
        """Held while processes are restarted, so that two callers do not restart the same ones."""
        self._cluster = cluster
        self._hosts = hosts
        self._say = say
        self._frozen: set[str] = set()
        self._cut = False

    def state(self) -> dict[str, Any]:
        """Return what the dashboard shows, in JSON's types: ``offered``, ``agents`` (each with ``host`` and
        ``state``: running, frozen or dead), and ``device`` (cut off or in reach).
        """
        ended = self._cluster.ended_processes()
        return {
            "offered": self.offered,
            "agents": [
                {
                    "host": host,
                    "state": "frozen" if host in self._frozen else "dead" if agent_name(host) in ended else "running",
                }
                for host in self._hosts
            ],
            "device": "cut off" if self._cut else "in reach",
        }

    async def perform_action(self, action: object, host: object) -> None:
        """Perform one of :data:`CONTROL_ACTIONS`. ``host``: host of the agent, for :data:`AGENT_ACTIONS`. Raises
        :class:`ActionRefused` for invalid input, and during the scenario; processes that cannot be started
        again are only reported.
        """
        if not self.offered:
            raise ActionRefused("the demo's scenario has not ended yet")
        if action not in CONTROL_ACTIONS:
            raise ActionRefused(f"action: {action!r:.40} is not one of {', '.join(CONTROL_ACTIONS)}")
        if action in AGENT_ACTIONS:
            if host not in self._hosts:
                raise ActionRefused(f"host: {host!r:.40} is not one of {', '.join(self._hosts)}")
            await self._signal_agent(str(action), str(host))
        elif action == "cut":
            self._cut = True
            await asyncio.to_thread(self._cluster.side.cut_off)
            self._say("the device is cut off from all agents")
        else:
            await self._heal_everything()

    async def _signal_agent(self, action: str, host: str) -> None:
        number = signal.SIGKILL if action == "kill" else signal.SIGSTOP
        if action == "kill":
            # SIGKILL ends a stopped process, too.
            self._frozen.discard(host)
        else:
            self._frozen.add(host)
        await asyncio.to_thread(self._cluster.kill, agent_name(host), number)
        self._say(f"the agent on {host} is {'killed' if action == 'kill' else 'frozen'}, as requested in the dashboard")

    async def _heal_everything(self) -> None:
        if self._cut:
            await asyncio.to_thread(self._cluster.side.reconnect)
            self._cut = False
        for host in sorted(self._frozen):
            self._cluster.kill(agent_name(host), signal.SIGCONT)
        self._frozen.clear()
        self._say("everything is healed, as requested in the dashboard")
        async with self.lock:
            for name in self._cluster.ended_processes():
                try:
                    await self._cluster.start_again(name)
                except ProcessFailed as error:
                    self._say(str(error))
