"""The command ``evenkeel switch-over``."""

import json
from argparse import ArgumentParser, Namespace
from typing import Any, NamedTuple

from evenkeel.cli.base import EXIT_CODE_PROBLEMS, ApiCommand
from evenkeel.cli.client import ApiRefused, ClientError, UsageError
from evenkeel.cli.columns import escape_controls
from evenkeel.cli.moving_in.foreign import InvalidSourceData
from evenkeel.cli.moving_in.importing import (
    OUTCOME_DIFFERS,
    OUTCOME_OUTDATED,
    OUTCOME_REFUSED,
    OUTCOME_SKIPPED,
    import_load_balancers,
)
from evenkeel.cli.moving_in.octavia.catalogue import (
    FLAVOR_KIND,
    ZONE_KIND,
    CatalogueKind,
    ReplacementChooser,
    parse_pairs,
    read_entries,
)
from evenkeel.cli.moving_in.octavia.login import source_client
from evenkeel.cli.moving_in.octavia.source import LoadBalancerFilter, OctaviaApi
from evenkeel.cli.moving_in.octavia.trees import CatalogueReplacements, convert_load_balancers
from evenkeel.cli.moving_in.switching.evenkeel_api import EvenKeelApi, EvenKeelLoadBalancer
from evenkeel.cli.moving_in.switching.prober import MeasuredGap
from evenkeel.cli.moving_in.switching.source import AmphoraSource, SourceProblem
from evenkeel.cli.moving_in.switching.steps import LoadBalancerSwitch, SwitchFailed, SwitchSettings, finish_switch
from evenkeel.cli.progress import WAIT_OPTION

SWITCH_PLANNED_TEXT = "nothing was changed: give --yes to switch them, one after the other"


class SwitchOutcome(NamedTuple):
    """Outcome of the switch-over of one load balancer."""

    id: str
    outcome: str
    """``planned``, ``switched``, ``back``, ``finished`` or ``failed``."""
    text: str = ""
    gap: MeasuredGap | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the outcome as an object for the command's JSON output."""
        gap = None if self.gap is None else self.gap._asdict()
        return {"id": self.id, "outcome": self.outcome, "text": self.text, "gap": gap}


class SwitchOver(ApiCommand):
    """Switch imported, held load balancers over from Octavia's amphorae to Even Keel's devices, or back.

    For each: its latest state is imported, Neutron silences its amphorae, Even Keel's devices get it, and its
    VIP is probed all the time. If the devices do not serve it in time, it goes back by itself.
    """

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("loadbalancers", metavar="ID", nargs="+", help="Ids of imported load balancers.")
        ways = parser.add_mutually_exclusive_group()
        ways.add_argument("--back", action="store_true", help="Let the amphorae serve them again.")
        ways.add_argument(
            "--finish", action="store_true", help="Delete switched ones in Octavia, without the ports of their VIPs."
        )
        parser.add_argument("--os-cloud", metavar="NAME", help="The source's cloud in clouds.yaml (default: OS_*).")
        parser.add_argument("--source-url", metavar="URL", help="Root URL of an Octavia without Keystone.")
        parser.add_argument("--neutron-url", metavar="URL", help="Root URL of a Neutron without Keystone.")
        parser.add_argument("--source-cacert", metavar="FILE", help="CA certificates, PEM, that verify the source.")
        parser.add_argument(
            "--source-timeout", metavar="SECONDS", type=float, default=60.0, help="For each answer (default: 60)."
        )
        for kind in (FLAVOR_KIND, ZONE_KIND):
            parser.add_argument(
                kind.option, metavar="SOURCE=OURS", action="append", default=[], help="As in: evenkeel import octavia."
            )
        parser.add_argument(
            "--timeout",
            WAIT_OPTION,
            dest="switch_seconds",
            metavar="SECONDS",
            type=float,
            default=30.0,
            help="Time for our devices, and for the VIP's first answer; then it goes back (default: 30).",
        )
        parser.add_argument("--no-probe", action="store_true", help="Do not connect to the VIP: no gap is measured.")
        parser.add_argument(
            "--hook",
            metavar="COMMAND",
            default="",
            help="Run COMMAND to-ours|to-source ID ADDRESS... where your network has to send elsewhere.",
        )
        parser.add_argument("--yes", action="store_true", help="Switch them; without this only the plan is shown.")
        parser.add_argument("--json", action="store_true", help="As JSON.")

    def take_action(self, parsed_args: Namespace) -> None:
        _check_options(parsed_args)
        work = _SwitchOverRun(self, parsed_args)
        outcomes = []
        for id_ in dict.fromkeys(parsed_args.loadbalancers):
            outcomes.append(work.process_load_balancer(id_))
            # line by line, because many take long; the rest stays as it is after a failure
            self._print_lines(parsed_args, f"{outcomes[-1].outcome:<9}{id_}", *_outcome_texts(outcomes[-1]))
            if outcomes[-1].outcome == "failed" and parsed_args.yes:
                break
        if not parsed_args.yes:
            self._print_lines(parsed_args, SWITCH_PLANNED_TEXT)
        if parsed_args.json:
            self.app.stdout.write(f"{json.dumps({'loadbalancers': [each.as_json() for each in outcomes]}, indent=2)}\n")
        if any(each.outcome == "failed" for each in outcomes):
            self.app.exit_code = EXIT_CODE_PROBLEMS

    def say(self, text: str) -> None:
        """Print the name of a step on standard error."""
        self.app.stderr.write(f"{escape_controls(text)}\n")

    def _print_lines(self, parsed_args: Namespace, *lines: str) -> None:
        if not parsed_args.json:
            self.app.stdout.writelines(f"{escape_controls(line)}\n" for line in lines)


def _outcome_texts(outcome: SwitchOutcome) -> list[str]:
    return [f"  {text}" for text in (outcome.text, "" if outcome.gap is None else str(outcome.gap)) if text]


class _SwitchOverRun:
    """Plans or switches load balancers one after the other, as the command's options say."""

    def __init__(self, command: SwitchOver, parsed_args: Namespace) -> None:
        self._command = command
        self._args = parsed_args
        self._ours = EvenKeelApi(command.client)
        octavia, neutron = (
            source_client(
                url,
                parsed_args.os_cloud,
                ca_file=parsed_args.source_cacert,
                timeout_seconds=parsed_args.source_timeout,
                service_type=service_type,
            )
            for url, service_type in (
                (parsed_args.source_url, "load-balancer"),
                (parsed_args.neutron_url, "network"),
            )
        )
        self._octavia = OctaviaApi(octavia, "the source")
        self._source = AmphoraSource(octavia, neutron)

    def process_load_balancer(self, load_balancer_id: str) -> SwitchOutcome:
        """Plan or switch one load balancer. A failure becomes the outcome ``failed``, except
        :class:`UsageError`, :class:`EndpointsUnreachable` and :class:`NotFinishedInTime`, which are
        raised.
        """
        try:
            return self._switch_load_balancer(load_balancer_id)
        except (SwitchFailed, SourceProblem, InvalidSourceData, ApiRefused) as error:
            return SwitchOutcome(load_balancer_id, "failed", str(error))

    def _switch_load_balancer(self, load_balancer_id: str) -> SwitchOutcome:
        balancer = self._ours.find_load_balancer(load_balancer_id)
        if balancer is None:
            raise SourceProblem("it is not here: evenkeel import octavia imports it, and holds it")
        if not self._args.yes:
            return SwitchOutcome(load_balancer_id, "planned", self._plan_text(balancer))
        if self._args.finish:
            seconds = self._args.source_timeout
            finish_switch(self._ours, self._source, balancer, timeout_seconds=seconds, say=self._command.say)
            return SwitchOutcome(load_balancer_id, "finished")
        settings = SwitchSettings(self._args.switch_seconds, not self._args.no_probe, self._args.hook)
        switch = LoadBalancerSwitch(
            self._ours, self._source, balancer, settings, say=self._command.say, refresh=self._import_again
        )
        if self._args.back:
            return SwitchOutcome(load_balancer_id, "back", gap=switch.switch_back())
        gap = switch.switch_over()
        return SwitchOutcome(load_balancer_id, "switched", self._changed_meanwhile_text(load_balancer_id), gap)

    def _plan_text(self, balancer: EvenKeelLoadBalancer) -> str:
        hosting = self._ours.hosting(balancer.id)
        state = "held" if hosting.held else "with our devices"
        if self._args.finish:
            return f"{balancer.title}: {state}; Octavia would delete it, and keep port {balancer.port_id}"
        amphorae = self._source.amphorae(balancer.id)
        ports = ", ".join(f"{each.id} (port {each.port_id})" for each in amphorae)
        probed = "" if balancer.tcp_port is None else f"; probed at {balancer.addresses[0]} port {balancer.tcp_port}"
        act = "may speak again" if self._args.back else "would be silenced"
        return f"{balancer.title}: {state}; amphorae {ports} {act} for {', '.join(balancer.addresses)}{probed}"

    def _import_again(self, load_balancer_id: str, *, apply: bool = True) -> str:
        """Import the source's latest state of a held load balancer, or with ``apply=False`` only compare;
        return the differences that were found and not applied, empty if none. Raises
        :class:`SourceProblem` if the load balancer cannot be imported as it is, and :class:`ClientError`.
        """
        environment = self._ours.hosting(load_balancer_id).environment
        found = self._octavia.read(LoadBalancerFilter(ids=(load_balancer_id,)))
        flavors, zones = (self._make_chooser(kind, environment) for kind in (FLAVOR_KIND, ZONE_KIND))
        trees = convert_load_balancers(found, CatalogueReplacements(flavors.choose, zones.choose))
        (row,) = import_load_balancers(self._command.client, trees, environment=environment, apply=apply, held=True)
        if row.outcome in (OUTCOME_REFUSED, OUTCOME_SKIPPED) or (apply and row.outcome == OUTCOME_DIFFERS):
            raise SourceProblem(f"its present state cannot be imported: {'; '.join(row.remarks)}")
        return "; ".join(row.remarks) if row.outcome in (OUTCOME_DIFFERS, OUTCOME_OUTDATED) else ""

    def _changed_meanwhile_text(self, load_balancer_id: str) -> str:
        """Return a text about changes in Octavia during the switch-over, or why they are not known; empty:
        there are none.
        """
        try:
            differs = self._import_again(load_balancer_id, apply=False)
        except (ClientError, SourceProblem, InvalidSourceData) as error:
            return f"not compared with Octavia afterwards: {error}"
        return f"changed in Octavia meanwhile, set it here too: {differs}" if differs else ""

    def _make_chooser(self, kind: CatalogueKind, environment: str) -> ReplacementChooser:
        given = getattr(self._args, kind.option.removeprefix("--").replace("-", "_"))
        return ReplacementChooser(
            kind,
            source=read_entries(self._octavia, kind),
            ours=read_entries(OctaviaApi(self._command.client, "our API"), kind),
            given=parse_pairs(kind.option, given),
            provider=environment,
        )


def _check_options(parsed_args: Namespace) -> None:
    """Raise :class:`UsageError` for options that contradict each other, or time-outs that are not above 0."""
    if bool(parsed_args.source_url) != bool(parsed_args.neutron_url):
        raise UsageError("--source-url and --neutron-url are given together, or neither of them")
    if parsed_args.source_url and parsed_args.os_cloud:
        raise UsageError("--source-url and --os-cloud name two sources: give one")
    if parsed_args.source_timeout <= 0 or parsed_args.switch_seconds <= 0:
        raise UsageError("--source-timeout and --timeout must be above 0")
