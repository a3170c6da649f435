"""``evenkeel esd …``: the enhanced services of agents, and checks of their files.

The format of the files comes from :mod:`evenkeel.config`, so a directory is checked without a controller.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from evenkeel.cli.base import ApiCommand, ListCommand, ShowCommand, print_problems
from evenkeel.cli.client import API_PATH, ApiRefused, UsageError, quote_segment
from evenkeel.cli.columns import Columns, escape_controls, list_table, object_table
from evenkeel.cli.filters import add_environment_filter
from evenkeel.config.esd.directory import read_directory
from evenkeel.config.esd.log_targets import drop_refused_target, parse_targets
from evenkeel.config.esd.parse import ParsedFiles, parse_all

LIST_COLUMNS = ("environment", "name", "usable", "agreed", "agents", "problem")
SERVICES_PATH = f"{API_PATH}/enhanced_services"


class ListEnhancedServices(ListCommand):
    """List the enhanced services that agents loaded. Files that could not be read have no name."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_environment_filter(parser, "services")

    def take_action(self, parsed_args: Namespace) -> Any:
        return list_table(LIST_COLUMNS, map(_service_table_row, _fetch_services(self, parsed_args.environment)))


class ShowEnhancedService(ShowCommand):
    """Show an enhanced service, with the definition and problems of each agent."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", metavar="NAME", help="Name of the enhanced service.")
        parser.add_argument("--environment", help="Environment; needed if several have one of that name.")

    def take_action(self, parsed_args: Namespace) -> tuple[Columns, tuple[Any, ...]]:
        name, environment = parsed_args.name, parsed_args.environment
        if environment:
            path = f"{API_PATH}/environments/{quote_segment(environment)}/enhanced_services/{quote_segment(name)}"
            return object_table(self.client.get(path)["enhanced_service"])
        found = self.client.get(SERVICES_PATH, {"name": name})["enhanced_services"]
        if not found:
            raise ApiRefused(404, f"no agent has an enhanced service {name!r}")
        if len(found) > 1:
            places = ", ".join(str(one["environment"]) for one in found)
            raise ApiRefused(409, f"several environments have an enhanced service {name!r}: {places}; --environment")
        return object_table(found[0])


class CheckEnhancedServices(ApiCommand):
    """Check the files of a directory, and with --environment whether its agents have the same; without a directory what
    agents have. Problems are printed, and the exit code is 1.
    """

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("directory", metavar="DIRECTORY", nargs="?", help="A directory of *.json, as esd_dir.")
        parser.add_argument("--environment", help="Ask the agents of this environment, which check their devices.")
        parser.add_argument(
            "--strict",
            action="store_true",
            help="An unusable tag is a problem, as with esd_strict; else it is discarded with a warning.",
        )
        parser.add_argument(
            "--access-log-networks",
            metavar="NETWORKS",
            help="Networks (CIDR, with commas) to which access logs may go, as in the agents' option; without it their "
            "targets are not checked.",
        )

    def take_action(self, parsed_args: Namespace) -> None:
        if parsed_args.directory is None:
            services = _fetch_services(self, parsed_args.environment)
            problems, warnings = list(_service_problems(services)), list(_discarded_tag_texts(services))
        else:
            parsed = _parse_directory(parsed_args.directory, strict=parsed_args.strict)
            problems = [*_file_problems(parsed), *_target_problems(parsed, parsed_args.access_log_networks)]
            warnings = [warning for one in parsed.definitions.values() for warning in one.warnings]
            if parsed_args.environment:
                services = _fetch_services(self, parsed_args.environment)
                problems += _difference_texts(parsed, services)
                warnings += _discarded_tag_texts(services)
        if parsed_args.strict:
            problems, warnings = [*problems, *warnings], []
        for warning in map(escape_controls, warnings):
            self.app.stderr.write(f"warning: {warning}\n")
        print_problems(self, map(escape_controls, problems))
        if not problems:
            self.app.stdout.write("no problems\n")


def _fetch_services(command: ApiCommand, environment: str | None) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = command.client.get(
        SERVICES_PATH, {"environment": environment} if environment else {}
    )["enhanced_services"]
    return found


def _service_table_row(service: Mapping[str, Any]) -> dict[str, Any]:
    agents = service["agents"]
    sound = sum(not agent["problem"] for agent in agents)
    return {**service, "agents": f"{sound}/{len(agents)}", "problem": next(iter(_service_problems([service])), "")}


def _service_problems(services: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the problems that agents have with enhanced services, and differences between agents."""
    for one in services:
        for agent in one["agents"]:
            if agent["problem"]:
                named = f"enhanced service {one['name']}: " if one["name"] else ""
                yield f"agent {agent['host']} of {one['environment']}: {named}{agent['problem']}"
        # The problem of an agent, which was shown, explains why they do not agree.
        if not one["agreed"] and not any(agent["problem"] for agent in one["agents"]):
            yield f"enhanced service {one['name']}: the agents of {one['environment']} have different definitions of it"


def _discarded_tag_texts(services: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a text for each tag that an agent discarded; agents of earlier versions report none."""
    for one in services:
        for agent in one["agents"]:
            for warning in agent.get("warnings", ()):
                yield f"agent {agent['host']} of {one['environment']}: {warning}"


def _parse_directory(directory: str, *, strict: bool) -> ParsedFiles:
    snapshot = read_directory(Path(directory), None)
    if snapshot is None or snapshot.problem:
        raise UsageError(snapshot.problem if snapshot else directory)
    return parse_all(snapshot.contents, strict=strict)


def _file_problems(parsed: ParsedFiles) -> Iterator[str]:
    yield from parsed.problems.values()
    yield from (one.problem for one in parsed.definitions.values() if one.problem)


def _target_problems(parsed: ParsedFiles, networks: str | None) -> Iterator[str]:
    """Yield a problem for each access log whose target is outside ``networks``, the value of the option;
    None: targets are not checked. Raises :class:`UsageError` for a value that is no list of networks.
    """
    if networks is None:
        return
    try:
        targets = parse_targets(filter(None, map(str.strip, networks.split(","))))
    except ValueError as error:
        raise UsageError(str(error)) from None
    for one in parsed.definitions.values():
        if not one.problem and (problem := drop_refused_target(one, targets).problem):
            yield problem


def _difference_texts(parsed: ParsedFiles, services: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield differences between the valid definitions in the directory and the services that agents have
    loaded, and the problems that agents report for these services.
    """
    loaded = {str(one["name"]): one for one in services if one["name"]}
    for name, definition in parsed.definitions.items():
        if definition.problem:
            continue
        mine = definition.enhanced_service()
        tags = {tag: list(paths) for tag, paths in mine.tags.items()}
        if name not in loaded:
            yield f"enhanced service {name}: no agent has it"
        for agent in loaded.get(name, {}).get("agents", ()):
            if agent["problem"]:
                yield f"agent {agent['host']}: enhanced service {name}: {agent['problem']}"
            # agents of earlier versions report no parts
            elif agent["tags"] != tags or agent.get("parts", {}) != mine.settings:
                yield f"agent {agent['host']}: enhanced service {name}: not defined as in {definition.file}"
    for name in sorted(loaded.keys() - parsed.definitions.keys()):
        yield f"enhanced service {name}: agents have it, and no file here"
