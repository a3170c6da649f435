"""The command ``evenkeel-octavia``."""

import argparse
import signal
import sys
import sysconfig
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evenkeel_octavia import __version__, check, registration
from evenkeel_octavia.controllers import ControllerError, ControllersClient
from evenkeel_octavia.settings import MisconfiguredError

EXIT_MISCONFIGURED = 2


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command; the exit code is 0 if all is well, 1 with warnings, 2 with failures."""
    parser = _build_parser()
    given, more = parser.parse_known_args(arguments)
    if more and given.command is not _run_driver_agent:
        parser.error(f"unrecognized arguments: {' '.join(more)}")
    given.more = more
    try:
        code = int(given.command(given))
    except (MisconfiguredError, OSError, ValueError) as error:
        print(f"evenkeel-octavia: {error}", file=sys.stderr)
        code = EXIT_MISCONFIGURED
    sys.exit(code)


def _build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="evenkeel-octavia", description="Even Keel under Octavia.")
    parser.add_argument("--version", action="version", version=f"evenkeel-octavia {__version__}")
    commands = parser.add_subparsers(required=True, metavar="command")

    def add(name: str, command: Any, text: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=text, description=text)
        added.set_defaults(command=command)
        added.add_argument("--config-file", action="append", metavar="FILE", help="octavia.conf; may be repeated")
        added.add_argument("--config-dir", action="append", metavar="DIR", help="directory of further files")
        return added

    add("check", _run_check, "Check controllers, credential, environments and versions.")
    add("agent", _run_agent, "Run the provider agent, for hosts whose octavia-driver-agent does not run it.")
    add(
        "driver-agent",
        _run_driver_agent,
        "Run octavia-driver-agent, with its own options, so that reports cost it less.",
    )
    added = add("leftovers", _run_leftovers, "List load balancers that the controllers have and Octavia does not know.")
    added.add_argument("--delete", action="store_true", help="delete them; devices stop serving them")
    added = add("take-over-amphora", _run_take_over, "Make load balancers of provider amphora ours, or give them back.")
    added.add_argument("loadbalancers", metavar="LOADBALANCER_ID", nargs="+", help="ids in Octavia")
    added.add_argument("--provider", default="evenkeel", help="our provider, default: evenkeel")
    ways = added.add_mutually_exclusive_group()
    ways.add_argument("--back", action="store_true", help="let the amphorae serve them again")
    ways.add_argument("--finish", action="store_true", help="let Octavia's API delete the amphorae")
    added.add_argument("--without-flavor", action="store_true", help="take their amphorae's flavors from them")
    added.add_argument("--timeout", type=float, default=60.0, metavar="SECONDS", help="for our devices, default: 60")
    added.add_argument("--yes", action="store_true", help="do it; without this only the plan is shown")
    added = add(
        "register-providers", _run_register_providers, "Write entry points of all providers in [evenkeel] providers."
    )
    added.add_argument("--directory", type=Path, help="a folder of Python's path; default: site-packages")
    return parser


def _read_configuration(arguments: argparse.Namespace) -> Any:
    """Read Octavia's configuration as Octavia's own processes do, and register our options. Raises
    :class:`MisconfiguredError`.
    """
    from octavia.common import config
    from oslo_config import cfg

    from evenkeel_octavia import options

    try:
        config.init(_configuration_arguments(arguments))
    except (cfg.ConfigFilesNotFoundError, cfg.ConfigFileParseError, cfg.ConfigFileValueError) as error:
        raise MisconfiguredError(str(error)) from error
    options.register_options(cfg.CONF)
    return cfg.CONF


def _configuration_arguments(arguments: argparse.Namespace) -> list[str]:
    files = [word for file in arguments.config_file or () for word in ("--config-file", file)]
    folders = [word for folder in arguments.config_dir or () for word in ("--config-dir", folder)]
    return [*files, *folders]


def _run_check(arguments: argparse.Namespace) -> int:
    worst = check.Severity.OK
    for finding in check.all_findings(_read_configuration(arguments)):
        print(f"{finding.severity.name:8}{finding.text}", flush=True)
        worst = max(worst, finding.severity)
    return worst


def _run_agent(arguments: argparse.Namespace) -> int:
    from octavia.common import config

    from evenkeel_octavia import supervisor

    conf = _read_configuration(arguments)
    config.setup_logging(conf)
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    supervisor.run_agent(conf, ended.wait, supervisor.new_holder_name())
    return 0


def _run_driver_agent(arguments: argparse.Namespace) -> int:
    from evenkeel_octavia import driver_agent

    driver_agent.run_driver_agent([*_configuration_arguments(arguments), *arguments.more])
    return 0


def _run_leftovers(arguments: argparse.Namespace) -> int:
    """Run the command ``leftovers``. Returns the exit code: 1 if load balancers were found and kept, 2 if those of a
    provider could not be read.
    """
    from evenkeel_octavia import leftovers, options
    from evenkeel_octavia.mirror import ControllersMirror
    from evenkeel_octavia.rows import OctaviaRows

    conf = _read_configuration(arguments)
    client = ControllersClient(options.parse_endpoint(conf))
    mirror = ControllersMirror(client, seconds=options.register_options(conf).request_timeout)
    code = 0
    for provider, environment in options.parse_environments(conf).items():
        try:
            for line in leftovers.find_leftover_lines(
                OctaviaRows(), mirror, provider, environment, delete=arguments.delete
            ):
                print(line, flush=True)
                code = code or int(not arguments.delete)
        except ControllerError as error:
            print(f"evenkeel-octavia: provider {provider}: {error}", file=sys.stderr)
            code = EXIT_MISCONFIGURED
    client.close()
    return code


def _run_take_over(arguments: argparse.Namespace) -> int:
    """Run the command ``take-over-amphora``. Returns the exit code: 2 if a load balancer could not be taken over or
    given back.
    """
    from evenkeel_octavia import amphorae, options
    from evenkeel_octavia.mirror import ControllersMirror
    from evenkeel_octavia.take_over import AmphoraTakeOver, TakeOverError

    conf = _read_configuration(arguments)
    environments = options.parse_environments(conf)
    if arguments.provider not in environments:
        raise MisconfiguredError(
            f"--provider {arguments.provider} is not allowed; allowed are those of [evenkeel] providers:"
            f" {', '.join(sorted(environments))}"
        )
    client, seconds = ControllersClient(options.parse_endpoint(conf)), options.register_options(conf).request_timeout

    def check(environment: str, body: Any) -> None:
        asked = {"provider": environment, "operation": "create", "kind": "loadbalancer", "object": body}
        client.call("POST", "/check", seconds=seconds, body=asked)

    work = AmphoraTakeOver(
        amphorae.AmphoraRows(),
        amphorae.NeutronPorts(),
        ControllersMirror(client, seconds=seconds),
        check,
        provider=arguments.provider,
        environment=environments[arguments.provider],
        timeout_seconds=arguments.timeout,
        without_flavor=arguments.without_flavor,
        say=lambda text: print(text, flush=True),
    )
    code = 0
    for id in dict.fromkeys(arguments.loadbalancers):
        try:
            print(_take_over_one(work, id, arguments), flush=True)
        except (TakeOverError, ControllerError) as error:
            print(f"evenkeel-octavia: {id}: {error}", file=sys.stderr, flush=True)
            code = EXIT_MISCONFIGURED
            if arguments.yes:
                break
    client.close()
    return code


def _take_over_one(take_over: Any, id: str, arguments: argparse.Namespace) -> str:
    """Take one load balancer over, give it back, or (without ``--yes``) only plan that; returns the text to print."""
    if not arguments.yes:
        return f"{take_over.plan(id, back=arguments.back)}; --yes does it"
    if arguments.finish:
        return (
            "\n".join(f"openstack loadbalancer amphora delete {each}" for each in take_over.finish(id)) or f"{id}: none"
        )
    if arguments.back:
        take_over.give_back(id)
        return (
            f"{id}: its amphorae serve it as they were configured before; 'openstack loadbalancer failover {id}' makes"
            " new ones with what has changed since"
        )
    return (
        f"{id}: is of provider {arguments.provider}; {take_over.take_over(id):.2f} s from the silence of its amphorae"
    )


def _run_register_providers(arguments: argparse.Namespace) -> int:
    from evenkeel_octavia import options

    environments = options.parse_environments(_read_configuration(arguments))
    directory = arguments.directory or Path(sysconfig.get_paths()["purelib"])
    print(registration.write_entry_points(list(environments), directory, __version__))
    return 0


if __name__ == "__main__":
    main()
