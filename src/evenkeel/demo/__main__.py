"""``python -m evenkeel.demo``: the only place that wires the demo together."""

import argparse
import asyncio
import contextlib
import random
import shlex
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from openstack.exceptions import SDKException

from evenkeel.cli.client import ClientError
from evenkeel.demo.acme.online import AcmeDemoAuthority
from evenkeel.demo.acme.server import HTTP_PORT
from evenkeel.demo.addresses import VipAddress, choose_vip_address, is_free
from evenkeel.demo.authority import CertificateAuthority
from evenkeel.demo.certificate_sources import SERVER_NAME
from evenkeel.demo.cluster import DEVICE_KINDS, Cluster, agent_name
from evenkeel.demo.configuration import Sections, merge_sections
from evenkeel.demo.controls import FaultControls
from evenkeel.demo.dashboard_proxy import DashboardProxy
from evenkeel.demo.locked_directory import DirectoryInUse, locked_directory
from evenkeel.demo.narration import ProgressPrinter, open_progress_printer
from evenkeel.demo.octavia import installation, mariadb
from evenkeel.demo.octavia.host import PROJECT_ID, OctaviaHost
from evenkeel.demo.octavia.story import OctaviaScenario
from evenkeel.demo.outcome import DemoResult
from evenkeel.demo.processes import ProcessFailed
from evenkeel.demo.scenario import AGENT_HOSTS, Scenario
from evenkeel.demo.waiting import StepFailed
from evenkeel.demo.watch import show_live_view

# shorter than the defaults, for a quick demo; the session's TTL is that recommended for production
CONTROLLER_OPTIONS: Sections = {
    "DEFAULT": {"session_ttl": 5, "settle_time": 3},
    "series": {"interval": 5, "points": 720},
}
AGENT_OPTIONS: Sections = {"DEFAULT": {"report_interval": 1, "status_interval": 5}}

RESTART_SECONDS = 15
ROOT_CERTIFICATE_FILE = "authority.pem"
"""Certificate of the demo's authority, in the demo's directory."""

EXPECTED_ERRORS = (StepFailed, ProcessFailed, ClientError, SDKException, OSError)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo with the command line ``arguments`` (None: the process's). Exit codes: 0 success, 1
    failure, 2 usage, MariaDB missing or the directory in use, 130 interrupted.
    """
    options = argument_parser().parse_args(arguments)
    if options.octavia and (reason := mariadb.missing_reason()):
        print(f"demo: {reason}", file=sys.stderr)
        return 2
    try:
        venv = octavia_environment(options.octavia_environment) if options.octavia else None
        with locked_directory(options.directory) as directory:
            return asyncio.run(run_demo(directory, device=options.device, once=options.once, venv=venv))
    except ProcessFailed as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    except DirectoryInUse as error:
        print(f"demo: {error}", file=sys.stderr)
        return 2
    except (KeyboardInterrupt, asyncio.CancelledError):
        return 130


def argument_parser() -> argparse.ArgumentParser:
    """Return the parser of the demo's command line."""
    made = argparse.ArgumentParser(prog="demo", description="Even Keel on this machine, with an agent that is killed.")
    made.add_argument(
        "--device",
        choices=DEVICE_KINDS,
        default=DEVICE_KINDS[0],
        help="HAProxy, or a pair of BIG-IP stand-ins (%(default)s)",
    )
    made.add_argument(
        "--octavia",
        action="store_true",
        help="behind a stock Octavia, as its provider; needs MariaDB, installs Octavia",
    )
    made.add_argument("--octavia-environment", type=Path, help="use the Octavia installed in this virtual environment")
    made.add_argument("--once", action="store_true", help="run once and clean up; the exit code shows the outcome")
    made.add_argument(
        "--directory", type=Path, default=Path(".demo"), help="where logs and data go, emptied first (%(default)s)"
    )
    return made


def octavia_environment(requested_directory: Path | None) -> Path:
    """Return Octavia's virtual environment: ``requested_directory``, or the demo's own, which is installed if it is
    missing or outdated. Raises :class:`ProcessFailed` if the installation fails.
    """
    if requested_directory is not None:
        return requested_directory
    directory = installation.DEFAULT_DIRECTORY
    if not installation.is_installed(directory):
        print(
            f"installing Octavia from {installation.LOCK_FILE} into {directory} (first time: some minutes)", flush=True
        )
        installation.install_octavia(directory)
    return directory


async def run_demo(directory: Path, *, device: str, once: bool, venv: Path | None = None) -> int:
    """Run the scenario, stay up unless ``once``, and stop all processes at the end; returns the exit code.
    ``device``: one of :data:`DEVICE_KINDS`; ``venv``: where an Octavia is installed, behind which the demo
    runs; None: no Octavia. A signal ends the demo: it raises :class:`asyncio.CancelledError` during the
    scenario, and ends the staying up as if with ``once``.
    """
    cancel_on_signals()
    narrator = open_progress_printer()
    place, authority = choose_vip_address(random.SystemRandom()), CertificateAuthority()
    root_file = write_root_certificate(authority, directory)
    zone, proof = choose_challenge(place)
    online = None if venv else AcmeDemoAuthority(authority, SERVER_NAME, place.address, directory, root_file, zone=zone)
    options = merge_sections(CONTROLLER_OPTIONS, await online.start() if online else {})
    cluster = Cluster(directory, device=device, controller_options=options, agent_options=AGENT_OPTIONS)
    octavia = OctaviaHost(cluster, venv) if venv else None
    story = (
        OctaviaScenario(cluster, place, narrator, octavia)
        if octavia
        else Scenario(cluster, place, narrator, authority=authority, proof=proof)
    )
    controls = FaultControls(cluster, AGENT_HOSTS, narrator.say)
    proxy = DashboardProxy(lambda: cluster.controllers, controls)
    await proxy.start()
    narrator.say(f"watch it in a browser: {proxy.url}")
    watching = asyncio.create_task(show_live_view(cluster, narrator))
    narrator.say(f"logs are in {cluster.directory / 'logs'}")
    try:
        outcome = await story.run()
        if not once:
            await keep_running_until_interrupted(cluster, story, narrator, controls)
        await story.stop_traffic()
        return print_result(outcome, narrator)
    except EXPECTED_ERRORS as error:
        narrator.say(f"FAILED: {error}")
        narrator.show(cluster.failure_report())
        return 1
    except asyncio.CancelledError:
        narrator.say("interrupted; everything is ended")
        raise
    finally:
        watching.cancel()
        narrator.close()
        story.close()
        await proxy.close()
        if octavia is not None:
            octavia.close()
        cluster.close()
        if online is not None:
            online.close()


def write_root_certificate(authority: CertificateAuthority, directory: Path) -> Path:
    """Write the authority's own certificate into ``directory``, for clients that verify the website's;
    returns the file.
    """
    file = directory.resolve() / ROOT_CERTIFICATE_FILE
    file.write_text(authority.root)
    return file


def choose_challenge(vip: VipAddress) -> tuple[str, str]:
    """Return the DNS zone in which the website's name is proven by dns-01, and a text about the proof. The
    zone is empty, and the proof http-01, if port 80 of the VIP can be bound.
    """
    if is_free(vip.address, HTTP_PORT):
        return "", f"the load balancer has answered the challenge on port {HTTP_PORT}"
    zone = SERVER_NAME.partition(".")[2]
    return zone, (
        f"port {HTTP_PORT} of {vip.address} cannot be bound here (without root?), so a record in the DNS zone {zone} "
        "has proven the name"
    )


def cancel_on_signals() -> None:
    """Cancel the current task at SIGINT, SIGTERM or SIGHUP, so that its cleanup runs. Raises
    :class:`RuntimeError` outside of a task.
    """
    task = asyncio.current_task()
    if task is None:
        raise RuntimeError("signals end a task, and none is running")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)


async def keep_running_until_interrupted(
    cluster: Cluster, story: Scenario, narrator: ProgressPrinter, controls: FaultControls
) -> None:
    """Offer the controls and show measurements and hints; then start processes that ended again, after
    :data:`RESTART_SECONDS`, until cancelled, and return. Raises :class:`ProcessFailed` if one does not
    start.
    """
    controls.offered = True
    narrator.table("so far", story.outcome.rows())
    narrator.show(experiment_instructions(cluster, story))
    with contextlib.suppress(asyncio.CancelledError):
        while True:
            for name in cluster.ended_processes():
                narrator.say(f"{name} has ended; it is started again in {RESTART_SECONDS} s")
                await asyncio.sleep(RESTART_SECONDS)
                async with controls.lock:
                    await cluster.start_again(name)
                narrator.say(f"{name} is back, pid {cluster.processes[name].pid}")
            await asyncio.sleep(1.0)


def experiment_instructions(cluster: Cluster, story: Scenario) -> str:
    """Return a text with commands for a visitor to try, with process ids, URLs and ports of this demo."""
    agents = ", ".join(f"{host} {cluster.processes[agent_name(host)].pid}" for host in AGENT_HOSTS)
    backends = ", ".join(f"127.0.0.1:{port}" for port in cluster.backend_ports)
    tips = "".join(f"  {tip}\n" for tip in cluster.side.experiment_hints())
    return f"""
It stays up until Ctrl-C; what you kill is started again after {RESTART_SECONDS} s.
Try, from another terminal with .venv/bin in its PATH:

{request_commands(cluster, story)}
  export EVENKEEL_ENDPOINT={",".join(cluster.controllers)}
  evenkeel status;  evenkeel top;  evenkeel agent list;  evenkeel events --follow
  kill -9 PID, or kill -STOP PID and later kill -CONT PID; agents: {agents}
{tips}  export OS_AUTH_TYPE=none OS_ENDPOINT={story.endpoint}
  openstack loadbalancer list      (installed with: pip install python-openstackclient python-octaviaclient)
  members for load balancers of your own: {backends}
"""


def request_commands(cluster: Cluster, story: Scenario) -> str:
    """Return the lines of :func:`experiment_instructions` with commands that send requests to the load balancer or to
    Octavia's API.
    """
    if isinstance(story, OctaviaScenario):
        listing = f"curl -H 'X-Project-Id: {PROJECT_ID}' {story.endpoint}/v2.0/lbaas/loadbalancers"
        return f"  curl {story.place.url}\n  {listing}"
    return f"  curl {story.place.url}\n  {fetch_command(cluster.directory / ROOT_CERTIFICATE_FILE, story.place)}"


def fetch_command(root_file: Path, vip: VipAddress) -> str:
    """Return the ``curl`` command that fetches the website by HTTPS and trusts only the authority in
    ``root_file``.
    """
    server = f"{SERVER_NAME}:{vip.https_port}"
    return f"curl --cacert {shlex.quote(str(root_file))} --resolve {server}:{vip.address} https://{server}/"


def print_result(outcome: DemoResult, narrator: ProgressPrinter) -> int:
    """Compare the measurements with the guarantees, print the result, and end the output; returns the exit
    code, 1 if a guarantee was violated.
    """
    outcome.add_violations()
    for problem in outcome.problems:
        narrator.say(f"NOT AS PROMISED: {problem}")
    narrator.close()
    narrator.table("Even Keel demo: " + ("not as promised" if outcome.problems else "all as promised"), outcome.rows())
    return 1 if outcome.problems else 0


if __name__ == "__main__":
    sys.exit(main())
