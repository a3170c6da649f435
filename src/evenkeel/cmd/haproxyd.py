"""``evenkeel-haproxyd``: makes the HAProxy of this host a device that agents configure. HAProxy processes keep running
when it stops.
"""

import argparse
import asyncio
import os
import resource
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

import structlog
from oslo_config import cfg

from evenkeel.cmd.configuration.haproxyd_sections import HAPROXYD_OPTION_GROUPS
from evenkeel.cmd.configuration.loading import file_arguments, load_configuration
from evenkeel.cmd.configuration.refusal import print_refusal
from evenkeel.cmd.options.haproxyd_options import daemon_name, daemon_settings, http_settings
from evenkeel.cmd.options.logging_options import LOG_OPTIONS
from evenkeel.cmd.options.tracing_options import open_tracing
from evenkeel.cmd.process.logs import set_log_level, set_up_logs
from evenkeel.cmd.process.metrics_endpoint import METRICS_CERTIFICATE_OPTIONS, MetricsEndpoint, metrics_tls_context
from evenkeel.cmd.process.passwords import read_new_password
from evenkeel.cmd.process.reloading import OptionReloader, ignore_hangup
from evenkeel.cmd.process.runtime import handle_stop_signals, tune_collector
from evenkeel.cmd.process.service_manager import ServiceManager
from evenkeel.cmd.process.start_log import log_start
from evenkeel.config.problems import Problems
from evenkeel.core.kit.errors import EvenKeelError, Invalid
from evenkeel.haproxyd.api.credentials import AgentCredentials, add_agent
from evenkeel.haproxyd.api.tls import CertificateFiles, make_certificates, server_context
from evenkeel.haproxyd.daemon import HaproxyDaemon, lock_state_dir
from evenkeel.haproxyd.partition.manager import PartitionManager
from evenkeel.haproxyd.partition.owners import remove_owner
from evenkeel.haproxyd.settings import DaemonSettings

log = structlog.get_logger(__name__)

PROCESS_NAME = "evenkeel-haproxyd"
DESCRIPTION = (
    "Make the HAProxy of this host a device that agents configure. HAProxy processes keep running when it stops."
)
CERTIFICATE_OPTIONS = ("haproxyd.tls_certificate", "haproxyd.tls_key")
CERTIFICATES_CREATED_TEXT = """made in {folder}:
  server.pem, server.key   this host's: tls_certificate and tls_key of [haproxyd], for {names}
  ca.pem                   copy it to every agent's host: ca_file of its [haproxy]
  ca.key                   keep it off the network. To make another host's certificate, put ca.pem and ca.key into
                           an empty folder and run --init there
Next: evenkeel-haproxyd --add-agent NAME for each agent."""


def main() -> int:
    """Run ``evenkeel-haproxyd`` until stopped, or one of its other actions. Exit codes: 0 done, 2
    configuration or arguments refused.
    """
    arguments = parse_arguments(sys.argv[1:])
    ignore_hangup()
    try:
        if arguments.init:
            return create_certificates(arguments.init, arguments.host)
        conf = load_configuration(PROCESS_NAME, file_arguments(arguments.config_file), groups=HAPROXYD_OPTION_GROUPS)
        if arguments.add_agent:
            return add_agent_password(Path(conf.haproxyd.credentials_file), arguments.add_agent)
    except OSError as error:
        print(f"{PROCESS_NAME}: refused: {error}", file=sys.stderr)
        return 2
    except ValueError as error:
        return print_refusal(PROCESS_NAME, error)
    os.umask(0o077)  # only the daemon's user may access keys, epochs and sockets
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # what it holds in memory is not to be on disk, nor HAProxy's
    set_up_logs(conf, name=f"haproxyd {daemon_name(conf)}")
    log_start(conf, HAPROXYD_OPTION_GROUPS)
    try:
        if arguments.disown:
            return release_partitions(daemon_settings(conf), arguments.disown)
        asyncio.run(
            stop_haproxy(conf) if arguments.stop_haproxy else run_daemon(conf, file_arguments(arguments.config_file))
        )
    except ValueError as error:
        return print_refusal(PROCESS_NAME, error, conf)
    return 0


def parse_arguments(words: Sequence[str]) -> argparse.Namespace:
    """Parse the command line; invalid arguments end the process with exit code 2."""
    parser = argparse.ArgumentParser(PROCESS_NAME, description=DESCRIPTION)
    parser.add_argument(
        "--config-file", action="append", default=[], metavar="FILE", help="ini file; several times, later ones win"
    )
    other = parser.add_mutually_exclusive_group()
    other.add_argument("--init", type=Path, metavar="DIR", help="make a private CA and a certificate, and exit")
    other.add_argument(
        "--add-agent", metavar="NAME", help="read a password from standard input, add the agent's hash, and exit"
    )
    other.add_argument(
        "--stop-haproxy", action="store_true", help="stop every HAProxy of a daemon that does not run, and exit"
    )
    other.add_argument(
        "--disown",
        metavar="PREFIX",
        help="let another device group take over the partitions PREFIX_..., of a daemon that does not run, and exit",
    )
    parser.add_argument(
        "--host", action="append", help="with --init: a name or address of this host; default: its name and loopback"
    )
    return parser.parse_args(words)


async def check_configuration(conf: cfg.ConfigOpts) -> None:
    """Check the configuration by reading all named files. Raises :class:`ValueError` with all problems."""
    with Problems() as problems:
        problems.collect_from(lambda: daemon_settings(conf))
        problems.collect_from(lambda: metrics_tls_context(conf))
        problems.collect_from(lambda: open_tracing(conf, PROCESS_NAME)())
        http = problems.collect_from(lambda: http_settings(conf))
        if http:
            problems.collect_from(lambda: server_context(http.certificate, http.key))
            problems.collect_from(lambda: AgentCredentials(http.credentials_file))


async def run_daemon(conf: cfg.ConfigOpts, arguments: Sequence[str] = ()) -> None:
    """Run the daemon until stopped. ``arguments``: arguments of :func:`load_configuration`, for reloading. Raises
    :class:`ValueError` with all problems of the configuration.
    """
    await check_configuration(conf)
    systemd = ServiceManager(health_file=conf.health_file)
    stop = asyncio.Event()
    handle_stop_signals(stop.set)
    daemon = HaproxyDaemon(daemon_settings(conf), http_settings(conf))
    metrics = MetricsEndpoint(conf)
    end_traces = open_tracing(conf, PROCESS_NAME)

    def use_certificate(changed: cfg.ConfigOpts) -> None:
        http = http_settings(changed)
        daemon.use_certificate(http.certificate, http.key)

    actions = {
        LOG_OPTIONS: set_log_level,
        CERTIFICATE_OPTIONS: use_certificate,
        METRICS_CERTIFICATE_OPTIONS: metrics.reload,
    }
    OptionReloader(PROCESS_NAME, arguments, HAPROXYD_OPTION_GROUPS, conf, actions).listen()
    watching = asyncio.create_task(systemd.watch())
    try:
        await metrics.start(daemon.set_gauges)
        tune_collector()
        await daemon.start()
        systemd.notify_ready()
        await stop.wait()
    finally:
        systemd.notify_stopping()
        await metrics.stop()
        await daemon.stop()
        await asyncio.to_thread(end_traces)
        # Last, because stopping may take some seconds, in which the watchdog must still be notified.
        watching.cancel()


async def stop_haproxy(conf: cfg.ConfigOpts) -> None:
    """Stop all HAProxy processes of this host's daemon, which must not run. Raises :class:`ValueError` if it
    runs, or there is no usable HAProxy binary.
    """
    settings = daemon_settings(conf)
    with lock_state_dir(settings.state_dir):
        partitions = PartitionManager(settings)
        await partitions.start()
        if partitions.problem:
            raise ValueError(f"haproxy: {partitions.problem}")
        await partitions.stop_all()


def release_partitions(settings: DaemonSettings, prefix: str) -> int:
    """Remove the owner of all partitions with this prefix, so that another device group may take them over;
    prints them and returns the exit code 0. Raises :class:`ValueError` if there is none, the daemon runs,
    or a file cannot be written.
    """
    with lock_state_dir(settings.state_dir):
        try:
            given_up = remove_owner(settings, prefix)
        except (EvenKeelError, OSError) as error:
            raise ValueError(f"--disown {prefix}: {error}") from error
    for name, owner in given_up.items():
        print(f"{name} belonged to {owner}, and is free now")
    if not given_up:
        raise ValueError(f"--disown {prefix}: no partition with that prefix has an owner")
    return 0


def create_certificates(folder: Path, hosts: Sequence[str] | None) -> int:
    """Create a private CA, unless the folder has one, and this host's certificate in ``folder``, and print
    the next steps; returns the exit code 0. ``hosts``: names and addresses in the certificate; None: this
    host's names and loopback. Raises :class:`ValueError` if there is a certificate, and :class:`OSError`.
    """
    name = socket.gethostname()
    names = list(hosts or dict.fromkeys([name, socket.getfqdn(), "localhost", "127.0.0.1", "::1"]))
    made: CertificateFiles = make_certificates(folder, names)
    print(CERTIFICATES_CREATED_TEXT.format(folder=made.folder, names=", ".join(names)))
    return 0


def add_agent_password(file: Path, name: str) -> int:
    """Read an agent's password from the terminal or a pipe, and store its hash in ``file``; returns the exit
    code 0. Raises :class:`ValueError` for a name or password that is not allowed, or another kind of file,
    and :class:`OSError`.
    """
    try:
        password = read_new_password(name, from_stdin=not sys.stdin.isatty())
    except Invalid as error:
        raise ValueError(f"--add-agent {name}: {error}") from error
    add_agent(file, name, password)
    print(f"{name} may use the daemons that read {file}; a running one reads it at the next request")
    return 0


if __name__ == "__main__":
    sys.exit(main())
