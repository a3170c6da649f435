"""The command ``evenkeel import lbaas``."""

import json
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from evenkeel.cli.base import EXIT_CODE_PROBLEMS, ApiCommand
from evenkeel.cli.client import UsageError
from evenkeel.cli.columns import escape_controls
from evenkeel.cli.moving_in import lbaas_v2
from evenkeel.cli.moving_in.foreign import ForeignLoadBalancer, InvalidSourceData
from evenkeel.cli.moving_in.importing import (
    OUTCOME_REFUSED,
    ImportRow,
    import_load_balancers,
    import_row_as_json,
    outcome_lines,
    outcome_summary,
)

FILE_BYTES_MAX = 512 << 20
IMPORT_PLANNED_TEXT = "nothing is stored yet: --yes imports them"


class ImportLbaas(ApiCommand):
    """Import load balancers of a neutron-lbaas, also one with F5's agent, with their ids, VIPs and the VIPs' ports.

    Shows what would be imported, and what cannot be carried over. With --yes the load balancers are created; those that
    exist are compared and never changed, so that the command may be repeated.
    """

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "files",
            metavar="FILE",
            nargs="+",
            help='JSON: answers of its API ({"loadbalancers": […]}, {"members": […]}, …), or rows of its database'
            ' by table ({"lbaas_members": […]}); several are merged.',
        )
        parser.add_argument("--environment", required=True, help="Name of our environment that serves them.")
        parser.add_argument("--provider", help="Only those of this provider of the neutron-lbaas.")
        parser.add_argument("--project", metavar="PROJECT", help="Only those of this project.")
        parser.add_argument(
            "--persistence-timeout",
            metavar="SECONDS",
            type=int,
            help="Time-out of source address persistence without one of its own; F5's agent had 1800 (default: 180).",
        )
        parser.add_argument("--yes", action="store_true", help="Import them; without this nothing is stored.")
        parser.add_argument("--json", action="store_true", help="As JSON.")

    def take_action(self, parsed_args: Namespace) -> None:
        found = [
            one
            for one in _read_files(parsed_args.files, parsed_args.persistence_timeout)
            if parsed_args.provider in (None, one.provider) and parsed_args.project in (None, one.project_id)
        ]
        environment, apply = parsed_args.environment, parsed_args.yes
        self._show_results(import_load_balancers(self.client, found, environment=environment, apply=apply), parsed_args)

    def _show_results(self, results: Iterable[ImportRow], parsed_args: Namespace) -> None:
        counts: Counter[str] = Counter()
        rows = []
        for one in results:
            counts[one.outcome] += 1
            rows.append(import_row_as_json(one))
            if not parsed_args.json:
                # Line by line, because an import of many takes minutes and may be interrupted.
                self.app.stdout.writelines(f"{escape_controls(line)}\n" for line in outcome_lines(one))
        if parsed_args.json:
            self.app.stdout.write(f"{json.dumps({'loadbalancers': rows}, indent=2)}\n")
        else:
            self.app.stdout.write(f"{outcome_summary(counts)}\n")
            if counts["new"]:
                self.app.stdout.write(f"{IMPORT_PLANNED_TEXT}\n")
        if counts[OUTCOME_REFUSED] or counts["differs"]:
            self.app.exit_code = EXIT_CODE_PROBLEMS


def _read_files(paths: Iterable[str], persistence_seconds: int | None) -> list[ForeignLoadBalancer]:
    """Read load balancers from JSON files. Raises :class:`UsageError` for a file that cannot be read, is not JSON, or
    has no load balancers in the form that is needed.
    """
    documents = lbaas_v2.LbaasDocuments()
    try:
        for path in paths:
            documents.add(_read_document(path), path)
        return lbaas_v2.convert_load_balancers(documents, persistence_seconds=persistence_seconds)
    except InvalidSourceData as error:
        raise UsageError(str(error)) from None


def _read_document(path: str) -> Any:
    """Read a JSON file. Raises :class:`UsageError` if it cannot be read, is too large, or is not JSON."""
    try:
        with Path(path).open("rb") as file:
            content = file.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    if len(content) > FILE_BYTES_MAX:
        raise UsageError(f"{path}: has more than {FILE_BYTES_MAX} bytes")
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        raise UsageError(f"{path}: is not JSON") from None
