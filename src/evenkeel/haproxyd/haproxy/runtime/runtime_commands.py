"""Runtime commands to the current worker: planned changes, and repairs of manual changes."""

from collections.abc import Sequence

import structlog

from evenkeel.haproxyd.errors import HaproxyDown
from evenkeel.haproxyd.haproxy.config.compose import HaproxyConfig
from evenkeel.haproxyd.haproxy.config.live_policies import (
    GENERATIONS,
    POLICIES,
    LivePolicies,
    find_externally_changed_frontend,
)
from evenkeel.haproxyd.haproxy.runtime.command import DriftFinding, NeedsReload, RuntimeCommand
from evenkeel.haproxyd.haproxy.runtime.drift import frontend_drift, list_drift, parse_list, server_drift
from evenkeel.haproxyd.haproxy.runtime.file_changes import LIST_KINDS
from evenkeel.haproxyd.haproxy.runtime.master_cli import MasterCli
from evenkeel.haproxyd.haproxy.runtime.plan import ServersToDelete
from evenkeel.haproxyd.haproxy.runtime.ssl_drift import certificate_drift_commands, ssl_drift
from evenkeel.haproxyd.haproxy.runtime.worker_state import SHOW_FRONTENDS, SHOW_SERVERS_STATE, server_states

log = structlog.get_logger(__name__)


class RuntimeCommands:
    """Sends runtime commands to the current worker of one partition's HAProxy."""

    def __init__(self, partition: str, cli: MasterCli) -> None:
        self._cli = cli
        self._log = log.bind(partition=partition)

    async def send(self, command: RuntimeCommand) -> bool:
        """Send one command, and return whether HAProxy reported success. A refusal or a missing answer is
        logged; after the latter the command may have been executed all the same.
        """
        try:
            answer = await self._cli.command(command.text, command.payload)
        except HaproxyDown as error:
            self._log.warning("runtime command not answered", command=command.text, reason=str(error))
            # It may have been executed all the same: after a planned change or a repair, the caller then reloads.
            return False
        if not command.has_succeeded(answer):
            self._log.info(
                "runtime command refused", command=command.text, answer=command.loggable_answer(answer)[:200]
            )
            return False
        return True

    async def repair_servers(self, running: HaproxyConfig) -> tuple[tuple[DriftFinding, ...], ServersToDelete]:
        """Restore servers that were changed manually. Returns the repairs, and the servers to be deleted once
        they have no connections.

        Raises :class:`NeedsReload` if a server is missing or could not be restored, :class:`HaproxyDown` if
        the worker does not answer, :class:`ValueError` or :class:`KeyError` for an answer in an unexpected
        form.
        """
        drift = server_drift(running, server_states(await self._cli.command(SHOW_SERVERS_STATE)))
        return await self._repair_findings(drift.findings), drift.to_delete

    async def repair_servers_and_frontends(
        self, running: HaproxyConfig, worker_pid: int
    ) -> tuple[tuple[DriftFinding, ...], ServersToDelete]:
        """Restore servers and frontends that were changed manually, after one query to the worker
        ``worker_pid``. Returns the repairs, and the servers to be deleted once they have no connections.

        Raises :class:`NeedsReload` if one is missing or could not be restored, :class:`HaproxyDown` if the
        worker does not answer, :class:`ValueError` or :class:`KeyError` for an answer in an unexpected form.
        """
        servers, frontends = await self._cli.query(worker_pid, SHOW_SERVERS_STATE, SHOW_FRONTENDS)
        drift = server_drift(running, server_states(servers))
        repaired = await self._repair_findings(drift.findings)
        return (*repaired, *await self._repair_findings(frontend_drift(running, frontends))), drift.to_delete

    async def repair_lists(self, running: HaproxyConfig) -> tuple[DriftFinding, ...]:
        """Restore the entries of ACLs and maps that were changed manually, and return the repairs.

        Raises :class:`NeedsReload` if one could not be restored, :class:`HaproxyDown` if the worker does not
        answer.
        """
        repaired: list[DriftFinding] = []
        for one in running.load_balancers.values():
            for file in one.files:
                if file.kind not in LIST_KINDS:
                    continue
                answer = await self._cli.command(f"show {file.kind} {file.name}")
                if not answer.startswith("Unknown"):  # no configuration line refers to it
                    repaired.extend(await self._repair_findings(list_drift(one.id, file, answer)))
        return tuple(repaired)

    async def check_policies(self, running: HaproxyConfig, live: LivePolicies, worker_pid: int) -> None:
        """Compare the L7 policies that were changed at runtime, ``live``, with those of the worker ``worker_pid``.
        Raises :class:`NeedsReload` if others changed them, :class:`HaproxyDown` if the worker does not answer.
        """
        if not (live.frontends or running.supports_live_policies):
            return
        reads = (f"show map {name}" for name in (GENERATIONS, POLICIES))
        answers = [parse_list(answer) for answer in await self._cli.query(worker_pid, *reads)]
        if name := find_externally_changed_frontend(live, *answers):
            owners = (one.id for one in running.load_balancers.values() for each in one.frontends if each.name == name)
            raise NeedsReload(f"policies of frontend {name} were changed", next(owners, ""))

    async def repair_certificates(self, running: HaproxyConfig) -> tuple[DriftFinding, ...]:
        """Restore certificates that were changed manually, and return the repairs.

        Raises :class:`NeedsReload` if one could not be restored, or if a CA file or list of certificates
        differs; :class:`HaproxyDown` if the worker does not answer.
        """
        reads = certificate_drift_commands(running)
        return await self._repair_findings(ssl_drift(running, await self._cli.commands(reads)) if reads else ())

    async def _repair_findings(self, findings: Sequence[DriftFinding]) -> tuple[DriftFinding, ...]:
        for finding in findings:
            self._log.warning("repairing a manual change", command=finding.command.text)
            if not await self.send(finding.command):
                raise NeedsReload(finding.text, finding.load_balancer_id)
        return tuple(findings)
