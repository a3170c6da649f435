"""The command ``evenkeel import octavia``."""

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from evenkeel.cli.base import EXIT_CODE_PROBLEMS, ApiCommand
from evenkeel.cli.client import ApiRefused, UsageError
from evenkeel.cli.columns import escape_controls
from evenkeel.cli.moving_in.command import IMPORT_PLANNED_TEXT
from evenkeel.cli.moving_in.foreign import InvalidSourceData
from evenkeel.cli.moving_in.importing import (
    OUTCOME_OUTDATED,
    OUTCOME_REFUSED,
    ImportRow,
    import_load_balancers,
    import_row_as_json,
    outcome_lines,
    outcome_summary,
)
from evenkeel.cli.moving_in.octavia.catalogue import (
    FLAVOR_KIND,
    ZONE_KIND,
    CatalogueKind,
    ReplacedEntry,
    ReplacementChooser,
    parse_pairs,
    read_entries,
)
from evenkeel.cli.moving_in.octavia.login import source_client
from evenkeel.cli.moving_in.octavia.quotas import (
    DefaultQuotaDifference,
    QuotaRow,
    default_quota_differences,
    import_quotas,
)
from evenkeel.cli.moving_in.octavia.source import LoadBalancerFilter, OctaviaApi
from evenkeel.cli.moving_in.octavia.trees import CatalogueReplacements, convert_load_balancers
from evenkeel.cli.moving_in.report import ImportStatistics, needs_attention

CONCURRENT_REQUESTS_LIMIT = 32


class ImportOctavia(ApiCommand):
    """Import load balancers of a stock Octavia with their ids, VIPs and the VIPs' ports.

    Shows what would be imported, and what cannot be carried over. With --yes the load balancers are created, and held:
    no device gets them before 'evenkeel switch-over'. Repeated, it brings held ones up to date; others that exist are
    compared and never changed. The source is only read.
    """

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--environment", required=True, help="Name of our environment that serves them.")
        parser.add_argument("--os-cloud", metavar="NAME", help="The source's cloud in clouds.yaml (default: OS_*).")
        parser.add_argument("--source-url", metavar="URL", help="Root URL of a source without Keystone.")
        parser.add_argument("--source-cacert", metavar="FILE", help="CA certificates, PEM, that verify the source.")
        parser.add_argument(
            "--source-timeout", metavar="SECONDS", type=float, default=60.0, help="For each answer (default: 60)."
        )
        parser.add_argument(
            "--source-requests", metavar="COUNT", type=int, default=4, help="Most at the same time (default: 4)."
        )
        parser.add_argument(
            "--provider", default="amphora", help="Only those of this provider of the source (default: amphora)."
        )
        parser.add_argument("--project", metavar="PROJECT", help="Only those of this project.")
        parser.add_argument(
            "--loadbalancer", metavar="ID", action="append", default=[], help="Only this one; may be repeated."
        )
        for kind in (FLAVOR_KIND, ZONE_KIND):
            parser.add_argument(
                kind.option,
                metavar="SOURCE=OURS",
                action="append",
                default=[],
                help=f"Our {kind.title} for one of the source, by id or name; may be repeated"
                " (default: the one with the same name).",
            )
        parser.add_argument(
            "--no-hold", action="store_true", help="Devices get them at once, not at 'evenkeel switch-over'."
        )
        parser.add_argument("--quotas", action="store_true", help="Import the quotas of projects too.")
        parser.add_argument("--attributes", action="store_true", help="Show numbers for each attribute too.")
        parser.add_argument("--yes", action="store_true", help="Import them; without this nothing is stored.")
        parser.add_argument("--json", action="store_true", help="As JSON.")

    def take_action(self, parsed_args: Namespace) -> None:
        try:
            self._import_all(parsed_args)
        except InvalidSourceData as error:
            raise ApiRefused(0, str(error)) from None

    def _import_all(self, parsed_args: Namespace) -> None:
        """Read the source, import its load balancers and show the outcome; problems set the exit code 1.
        Raises :class:`UsageError`, :class:`InvalidSourceData` and :class:`ClientError`.
        """
        _check_options(parsed_args)
        client = source_client(
            parsed_args.source_url,
            parsed_args.os_cloud,
            ca_file=parsed_args.source_cacert,
            timeout_seconds=parsed_args.source_timeout,
        )
        source = OctaviaApi(client, "the source", at_once=parsed_args.source_requests)
        ours = OctaviaApi(self.client, "our API")
        catalogues = [self._make_chooser(kind, source, ours, parsed_args) for kind in (FLAVOR_KIND, ZONE_KIND)]
        wanted = LoadBalancerFilter(
            parsed_args.provider, parsed_args.project, tuple(dict.fromkeys(parsed_args.loadbalancer))
        )
        found = convert_load_balancers(
            source.read(wanted), CatalogueReplacements(*(each.choose for each in catalogues))
        )
        shown = _ImportResults(self._print_lines if not parsed_args.json else None)
        options = {"environment": parsed_args.environment, "apply": parsed_args.yes, "held": not parsed_args.no_hold}
        for one in import_load_balancers(self.client, found, **options):
            shown.add_load_balancer(one)
        for each in (mapped for catalogue in catalogues for mapped in catalogue.used.values()):
            shown.add_catalogue_entry(each)
        if parsed_args.quotas:
            shown.add_default_quotas(default_quota_differences(source, ours))
            project_id, apply = parsed_args.project, parsed_args.yes
            for row in import_quotas(source, ours, self.client, project_id=project_id, apply=apply):
                shown.add_quota(row)
        if parsed_args.json:
            self.app.stdout.write(f"{json.dumps(shown.as_json(), indent=2)}\n")
        else:
            self._print_lines(shown.closing_lines(attributes=parsed_args.attributes))
        if shown.has_problems:
            self.app.exit_code = EXIT_CODE_PROBLEMS

    def _make_chooser(
        self, kind: CatalogueKind, source: OctaviaApi, ours: OctaviaApi, parsed_args: Namespace
    ) -> ReplacementChooser:
        given = getattr(parsed_args, kind.option.removeprefix("--").replace("-", "_"))
        return ReplacementChooser(
            kind,
            source=read_entries(source, kind),
            ours=read_entries(ours, kind),
            given=parse_pairs(kind.option, given),
            provider=parsed_args.environment,
        )

    def _print_lines(self, lines: Iterable[str]) -> None:
        self.app.stdout.writelines(f"{escape_controls(line)}\n" for line in lines)


class _ImportResults:
    """Collected results of one import. ``show_lines``: prints lines at once, because an import of many load
    balancers takes minutes and may be interrupted; None: results are only collected.
    """

    def __init__(self, show_lines: Callable[[Iterable[str]], None] | None) -> None:
        self._show_lines = show_lines or (lambda _: None)
        self._tally = ImportStatistics()
        self._load_balancers: list[dict[str, Any]] = []
        self._catalogue_entries: list[ReplacedEntry] = []
        self._quotas: list[QuotaRow] = []
        self._default_quotas: list[DefaultQuotaDifference] = []

    def add_load_balancer(self, row: ImportRow) -> None:
        self._tally.add(row)
        self._load_balancers.append(import_row_as_json(row))
        self._show_lines(outcome_lines(row))

    def add_catalogue_entry(self, entry: ReplacedEntry) -> None:
        self._tally.count(entry.kind.title, carried=entry.choice.ours is not None)
        self._catalogue_entries.append(entry)
        self._show_lines([str(entry)])

    def add_default_quotas(self, different: Sequence[DefaultQuotaDifference]) -> None:
        self._default_quotas.extend(different)
        self._show_lines(map(str, different))

    def add_quota(self, row: QuotaRow) -> None:
        self._tally.count("quota", carried=row.outcome != OUTCOME_REFUSED)
        self._quotas.append(row)
        self._show_lines(row.lines())

    @property
    def has_problems(self) -> bool:
        """Whether something was refused or skipped, or differs, so that the operator has to look."""
        return needs_attention(self._tally.outcomes) or any(row.outcome == OUTCOME_REFUSED for row in self._quotas)

    def closing_lines(self, *, attributes: bool) -> Iterator[str]:
        """Yield the lines after all load balancers: tables of counts, with ``attributes`` also by attribute, and the
        summary.
        """
        yield ""
        yield from self._tally.lines(attributes=attributes)
        yield ""
        yield outcome_summary(self._tally.outcomes)
        if self._tally.outcomes["new"] or any(row.outcome == "new" for row in self._quotas):
            yield IMPORT_PLANNED_TEXT
        if self._tally.outcomes[OUTCOME_OUTDATED]:
            yield "held ones are as they were: --yes brings them up to date"

    def as_json(self) -> dict[str, Any]:
        """Return all results as an object for the command's JSON output."""
        return {
            "loadbalancers": self._load_balancers,
            "catalogue": [each.as_json() for each in self._catalogue_entries],
            "quotas": [row.as_json() for row in self._quotas],
            "different_default_quotas": [each._asdict() for each in self._default_quotas],
            "summary": self._tally.as_json(),
        }


def _check_options(parsed_args: Namespace) -> None:
    """Raise :class:`UsageError` for options that contradict each other, or numbers out of range."""
    if parsed_args.source_url and parsed_args.os_cloud:
        raise UsageError("--source-url and --os-cloud name two sources: give one")
    if parsed_args.source_timeout <= 0:
        raise UsageError("--source-timeout must be above 0")
    if not 1 <= parsed_args.source_requests <= CONCURRENT_REQUESTS_LIMIT:
        raise UsageError(f"--source-requests must be from 1 to {CONCURRENT_REQUESTS_LIMIT}")
