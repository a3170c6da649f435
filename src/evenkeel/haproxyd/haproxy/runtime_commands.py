"""Commands to the process that runs: those that were planned, and those that put right what is not as it should be."""

from collections.abc import Sequence

import structlog

from evenkeel.haproxyd.haproxy.compose import HaproxyConfig
from evenkeel.haproxyd.haproxy.config_files import files_of
from evenkeel.haproxyd.haproxy.drift import frontend_repairs, parse_acl, server_repairs
from evenkeel.haproxyd.haproxy.master_cli import MasterCli
from evenkeel.haproxyd.haproxy.plan import NeedsReload, RuntimeCommand, acl_changes, entries
from evenkeel.haproxyd.ports import HaproxyDown

log = structlog.get_logger(__name__)

Leftovers = frozenset[tuple[str, str]]


class RuntimeCommands:
    """Of one partition's HAProxy."""

    def __init__(self, partition: str, cli: MasterCli) -> None:
        self._cli = cli
        self._log = log.bind(partition=partition)

    async def tell(self, command: RuntimeCommand) -> bool:
        """Did HAProxy do it?"""
        try:
            answer = await self._cli.command(command.text, command.payload)
        except HaproxyDown as error:
            self._log.warning("no answer at runtime", command=command.text, reason=str(error))
            return False
        if not command.done(answer):
            self._log.info("refused at runtime", command=command.text, answer=answer.strip()[:200])
            return False
        return True

    async def servers(self, running: HaproxyConfig) -> tuple[int, Leftovers]:
        """How many commands it took, and servers that are to be deleted. Raises :class:`NeedsReload`,
        :class:`HaproxyDown`; so do the others."""
        repairs = server_repairs(running, await self._cli.command("show servers state"))
        return await self._repair(repairs.commands), repairs.leftovers

    async def frontends(self, running: HaproxyConfig) -> int:
        """How many commands it took."""
        return await self._repair(frontend_repairs(running, await self._cli.command("show stat -1 1 -1")))

    async def acls(self, running: HaproxyConfig) -> int:
        """How many commands it took."""
        count = 0
        for name, content in files_of(running, "acl").items():
            answer = await self._cli.command(f"show acl {name}")
            if not answer.startswith("Unknown"):  # no line names it
                count += await self._repair(tuple(acl_changes(name, parse_acl(answer), entries(content))))
        return count

    async def _repair(self, commands: Sequence[RuntimeCommand]) -> int:
        for command in commands:
            self._log.warning("put right", command=command.text)
            if not await self.tell(command):
                raise NeedsReload(command.text)
        return len(commands)
