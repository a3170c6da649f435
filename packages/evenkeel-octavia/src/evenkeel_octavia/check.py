"""``evenkeel-octavia check``: whether this host's Octavia can use Even Keel, and if not, why."""

import enum
from collections.abc import Callable, Iterator, Mapping
from importlib import metadata
from typing import Any, NamedTuple

from evenkeel_octavia import __version__
from evenkeel_octavia.controllers import MIRROR_API_PATH, ControllerError, ControllersClient, RequestRefused
from evenkeel_octavia.settings import ControllersEndpoint

DRIVERS_GROUP = "octavia.api.drivers"
PROVIDER_AGENTS_GROUP = "octavia.driver_agent.provider_agents"
AGENT_ENTRY_POINT = "evenkeel_agent"
CONTROLLER_TIMEOUT_SECONDS = 5.0


class Severity(enum.IntEnum):
    """Severity of a finding. The highest of all findings is the exit code, with the numbers of octavia-status."""

    OK = 0
    WARNING = 1
    FAILURE = 2


class CheckFinding(NamedTuple):
    """Result of one check."""

    severity: Severity
    text: str


def ok_finding(text: str) -> CheckFinding:
    return CheckFinding(Severity.OK, text)


def warning_finding(text: str) -> CheckFinding:
    return CheckFinding(Severity.WARNING, text)


def failure_finding(text: str) -> CheckFinding:
    return CheckFinding(Severity.FAILURE, text)


def check_versions() -> Iterator[CheckFinding]:
    """Yield a finding with the version of each installed component; an Octavia before 17 is a warning."""
    yield ok_finding(f"evenkeel-octavia {__version__}")
    for name in ("octavia", "octavia-lib"):
        try:
            version = metadata.version(name)
        except metadata.PackageNotFoundError:
            yield failure_finding(f"{name} is not installed in this Python")
            continue
        too_old = name == "octavia" and int(version.partition(".")[0] or 0) < 17
        yield (
            warning_finding(f"{name} {version}: tested are 17, 18 and 19")
            if too_old
            else ok_finding(f"{name} {version}")
        )


def check_entry_points(
    environments: Mapping[str, str], found: Callable[[str], set[str]], enabled: Mapping[str, object], agents: list[str]
) -> Iterator[CheckFinding]:
    """Yield a finding for each provider, whether it can be loaded and is enabled, and one for the provider
    agent.

    ``environments``: by provider; ``found``: returns the names of entry points in a group; ``enabled``: by
    provider; ``agents``: names of enabled provider agents.
    """
    drivers = found(DRIVERS_GROUP)
    for provider in environments:
        if provider not in drivers:
            yield failure_finding(f"provider {provider} has no entry point: run evenkeel-octavia register-providers")
        elif provider not in enabled:
            yield failure_finding(f"provider {provider} is not in [api_settings] enabled_provider_drivers")
        else:
            yield ok_finding(f"provider {provider} is enabled, environment {environments[provider]}")
    if AGENT_ENTRY_POINT in agents:
        yield ok_finding(f"{AGENT_ENTRY_POINT} is started by octavia-driver-agent")
    else:
        yield warning_finding(
            f"{AGENT_ENTRY_POINT} is not in [driver_agent] enabled_provider_agents:"
            " evenkeel-octavia agent has to run as a service"
        )


def check_controllers(endpoint: ControllersEndpoint) -> Iterator[CheckFinding]:
    """Yield a finding for each controller: whether it answers and accepts the credential."""
    for url in endpoint.urls:
        client = ControllersClient(
            ControllersEndpoint(urls=(url,), ca_file=endpoint.ca_file, credential=endpoint.credential)
        )
        try:
            client.call(
                "GET", "/environments", seconds=CONTROLLER_TIMEOUT_SECONDS, root=MIRROR_API_PATH.rpartition("/")[0]
            )
        except RequestRefused as refusal:
            yield failure_finding(f"controller {url} refuses: {refusal.status} {refusal.message}")
        except (ControllerError, OSError, ValueError) as error:
            yield failure_finding(f"controller {url} does not answer: {error}")
        else:
            yield ok_finding(f"controller {url} answers and takes the credential")
        finally:
            client.close()


def check_environment(client: ControllersClient, provider: str, name: str) -> Iterator[CheckFinding]:
    """Yield a finding: whether the controllers have the environment and let Octavia use the mirror API."""
    try:
        query = {"provider": name}
        client.call("GET", "/loadbalancers", seconds=CONTROLLER_TIMEOUT_SECONDS, query={**query, "limit": 1})
        flavors = client.call("GET", "/flavor-metadata", seconds=CONTROLLER_TIMEOUT_SECONDS, query=query) or {}
    except RequestRefused as refusal:
        yield failure_finding(f"environment {name} of provider {provider}: {refusal.status} {refusal.message}")
    except (ControllerError, OSError, ValueError) as error:
        yield failure_finding(f"environment {name} of provider {provider} can't be read: {error}")
    else:
        keys = sorted(str(each["name"]) for each in flavors.get("metadata", ()))
        yield ok_finding(f"environment {name} is there; keys of flavors: {', '.join(keys) or 'none'}")


def all_findings(conf: Any) -> Iterator[CheckFinding]:
    """Run all checks and yield their findings. Raises :class:`~evenkeel_octavia.settings.MisconfiguredError`
    for wrong options.
    """
    from evenkeel_octavia import options

    yield from check_versions()
    environments = options.parse_environments(conf)
    yield from check_entry_points(
        environments,
        lambda group: {each.name for each in metadata.entry_points(group=group)},
        conf.api_settings.enabled_provider_drivers,
        conf.driver_agent.enabled_provider_agents,
    )
    endpoint = options.parse_endpoint(conf)
    yield from check_controllers(endpoint)
    client = ControllersClient(endpoint)
    for provider, name in environments.items():
        yield from check_environment(client, provider, name)
    client.close()
