"""The findings of ``evenkeel-octavia check``, and the entry points that it asks for."""

import configparser
from pathlib import Path

import pytest

from evenkeel_octavia import check, registration
from evenkeel_octavia.check import AGENT_ENTRY_POINT, Severity
from evenkeel_octavia.controllers import ControllersClient
from evenkeel_octavia.settings import ControllersEndpoint
from octavia_tests.fake_controller import FakeController, served


def worst(findings: list[check.CheckFinding]) -> Severity:
    return max(finding.severity for finding in findings)


@pytest.mark.parametrize(
    ("found", "enabled", "agents", "severity", "text"),
    [
        ({"evenkeel"}, {"evenkeel": ""}, [AGENT_ENTRY_POINT], Severity.OK, "is enabled"),
        (set(), {"evenkeel": ""}, [AGENT_ENTRY_POINT], Severity.FAILURE, "register-providers"),
        ({"evenkeel"}, {}, [AGENT_ENTRY_POINT], Severity.FAILURE, "enabled_provider_drivers"),
        ({"evenkeel"}, {"evenkeel": ""}, [], Severity.WARNING, "enabled_provider_agents"),
    ],
)
def test_provider_that_octavia_can_not_load_is_found(
    found: set[str], enabled: dict[str, str], agents: list[str], severity: Severity, text: str
) -> None:
    findings = list(check.check_entry_points({"evenkeel": "prod"}, lambda group: found, enabled, agents))
    assert worst(findings) == severity and any(text in finding.text for finding in findings)


def test_environment_that_the_controllers_do_not_have_is_found() -> None:
    fake = FakeController()
    with served(fake) as url:
        client = ControllersClient(ControllersEndpoint(urls=(url,)))
        assert worst(list(check.check_environment(client, "evenkeel", "prod"))) == Severity.OK
        fake.refusals["GET /loadbalancers"] = (404, "environment prod could not be found")
        (finding,) = check.check_environment(client, "evenkeel", "prod")
        client.close()
    assert finding.severity == Severity.FAILURE and "could not be found" in finding.text


def test_controller_that_does_not_answer_is_found() -> None:
    with served(FakeController()) as url:
        pass
    (finding,) = check.check_controllers(ControllersEndpoint(urls=(url,)))
    assert finding.severity == Severity.FAILURE and url in finding.text


def test_entry_points_name_the_driver_for_each_further_provider(tmp_path: Path) -> None:
    registration.write_entry_points(["evenkeel", "old"], tmp_path, "1")
    folder = registration.write_entry_points(["evenkeel", "evenkeel-gold", "evenkeel-dmz"], tmp_path, "1")
    points = configparser.ConfigParser()
    points.read(folder / "entry_points.txt")
    assert dict(points["octavia.api.drivers"]) == {
        "evenkeel-gold": "evenkeel_octavia.driver:EvenKeelDriver",
        "evenkeel-dmz": "evenkeel_octavia.driver:EvenKeelDriver",
    }


@pytest.mark.parametrize("name", ["", "a b", "a=b", "a\nb", "x" * 65])
def test_name_that_no_entry_point_can_have_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="is not allowed"):
        registration.write_entry_points([name], tmp_path, "1")
