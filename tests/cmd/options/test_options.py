"""The options page says what the processes take."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import structlog
from oslo_config import cfg

from evenkeel.cmd.agent import agent_settings, driver_options
from evenkeel.cmd.configuration import loading
from evenkeel.cmd.configuration.sections import AGENT_OPTION_GROUPS
from evenkeel.cmd.controllers.controller_parts import open_controller_bus, parse_environment
from evenkeel.cmd.options import identity_options, limit_options, quota_options
from evenkeel.core.resources.capacity import parse_policy
from evenkeel.core.resources.limits import LoadBalancerLimits
from evenkeel.core.resources.quota import TITLES

ROOT = Path(__file__).parents[3]


def test_the_options_page_is_made_from_the_code() -> None:
    script = ROOT / "scripts" / "generate_options_reference.py"
    assert subprocess.run([sys.executable, script, "--check"], check=False).returncode == 0


def load(tmp_path: Path, text: str) -> cfg.ConfigOpts:
    file = tmp_path / "agent.ini"
    file.write_text(text)
    return loading.load_configuration("agent", ["--config-file", str(file)], groups=AGENT_OPTION_GROUPS)


def test_an_agent_without_a_host_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^host: not set"):
        agent_settings(load(tmp_path, "[DEFAULT]\n"))


def test_the_agent_id_is_the_same_after_every_restart(tmp_path: Path) -> None:
    conf = load(tmp_path, "[DEFAULT]\nhost = host-1\nenvironment_prefix = demo\n")
    assert agent_settings(conf).agent_id == agent_settings(conf).agent_id
    other = load(tmp_path, "[DEFAULT]\nhost = host-2\nenvironment_prefix = demo\n")
    assert agent_settings(conf).agent_id != agent_settings(other).agent_id


def test_an_agent_with_a_user_of_its_own_is_called_as_its_place(tmp_path: Path) -> None:
    place = "[DEFAULT]\nhost = host-1\nenvironment_prefix = demo\nrabbit_agents_authenticated = true\n"
    derived = agent_settings(load(tmp_path, place)).agent_id
    assert agent_settings(load(tmp_path, f"{place}agent_id = {derived}\n")).agent_id == derived
    with pytest.raises(ValueError, match=f"agent_id: with rabbit_agents_authenticated it is {derived}"):
        agent_settings(load(tmp_path, f"{place}agent_id = mine\n"))


@pytest.mark.parametrize(
    ("url", "authenticated", "warned"),
    [
        ("amqp://u:s3cret@h/", "true", False),
        ("amqp://u:s3cret@h/", "false", True),
        ("embedded:///x/bus.db", "false", False),
    ],
)
def test_a_controller_warns_of_agents_that_nobody_vouches_for(
    tmp_path: Path, url: str, authenticated: str, warned: bool
) -> None:
    text = f"[DEFAULT]\ntransport_url = {url}\nrabbit_agents_authenticated = {authenticated}\n"
    with structlog.testing.capture_logs() as lines:
        open_controller_bus(load(tmp_path, text))
    assert bool([line for line in lines if "agents are not authenticated" in line["event"]]) == warned
    assert "s3cret" not in str(lines)


def test_users_of_agents_need_rabbitmq(tmp_path: Path) -> None:
    text = "[DEFAULT]\ntransport_url = embedded:///x/bus.db\nrabbit_agents_authenticated = true\n"
    with pytest.raises(ValueError, match="rabbit_agents_authenticated: needs RabbitMQ"):
        open_controller_bus(load(tmp_path, text))


def test_limits_of_a_load_balancer_are_read(tmp_path: Path) -> None:
    file = tmp_path / "controller.ini"
    file.write_text("[limits]\nmembers_per_load_balancer = 7\n")
    conf = loading.load_configuration(
        "controller", ["--config-file", str(file)], groups={"limits": limit_options.LIMIT_OPTIONS}
    )
    assert limit_options.load_balancer_limits(conf) == LoadBalancerLimits(member=7)


def test_the_password_may_come_from_a_file(tmp_path: Path) -> None:
    secret = tmp_path / "password"
    secret.write_text("s3cret\n")
    conf = load(tmp_path, f"[bigip]\nicontrol_hostname = a,b:8443\nicontrol_password_file = {secret}\n")
    read = driver_options(conf)
    assert read["icontrol_password"] == "s3cret"
    assert read["icontrol_hostname"] == ["a", "b:8443"]
    secret.unlink()
    with pytest.raises(ValueError, match=r"icontrol_password_file"):
        driver_options(conf)


@pytest.mark.parametrize("item", ["demo", "demo:", ":bigip", "a b:bigip", "é:bigip", "-a:bigip", "x" * 65 + ":bigip"])
def test_a_malformed_environment_is_refused(item: str) -> None:
    with pytest.raises(ValueError, match=r"^environments: "):
        parse_environment(item)


def loaded(tmp_path: Path, text: str, group: str, found: Sequence[cfg.Opt]) -> cfg.ConfigOpts:
    file = tmp_path / "controller.ini"
    file.write_text(text)
    return loading.load_configuration("controller", ["--config-file", str(file)], groups={group: found})


def test_tenants_are_limited_unless_an_operator_decides_otherwise(tmp_path: Path) -> None:
    quotas = quota_options.default_quotas(loaded(tmp_path, "", "quotas", quota_options.QUOTA_OPTIONS))
    assert quotas.limited_kinds() == frozenset(TITLES)
    assert (quotas.loadbalancer, quotas.member) == (100, 10_000)
    unlimited = "[quotas]\ndefault_member_quota = -1\n"
    assert (
        "member"
        not in quota_options.default_quotas(
            loaded(tmp_path, unlimited, "quotas", quota_options.QUOTA_OPTIONS)
        ).limited_kinds()
    )
    conf = loaded(tmp_path, "", "api", identity_options.API_AUTHENTICATION_OPTIONS)
    assert (conf.api.rate_limit, conf.api.rate_limit_burst) == (50.0, 200)


def run(module: str, *arguments: str) -> tuple[int, str]:
    """Exit code and what was said."""
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments], check=False, capture_output=True, text=True, timeout=120
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("module", ["evenkeel.cmd.agent", "evenkeel.cmd.controller"])
def test_a_missing_file_is_one_line_and_exit_code_2(module: str) -> None:
    code, said = run(module, "--config-file", "/nonexistent.ini")
    assert code == 2
    assert "/nonexistent.ini: no such file" in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("[DEFAULT]\nenvironment_group_number = one\n", r"\[DEFAULT\] environment_group_number"),
        ("[bigip]\nf5_ha_type = triple\n", r"\[bigip\] f5_ha_type"),
        ("[DEFAULT]\nreport_interval = 0\n", r"\[DEFAULT\] report_interval"),
    ],
)
def test_a_bad_value_is_refused_by_the_options_name(tmp_path: Path, text: str, name: str) -> None:
    with pytest.raises(ValueError, match=rf"^{tmp_path}/agent\.ini:2: {name}: "):
        load(tmp_path, text)


def test_a_default_provider_that_is_no_environment_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "controller.ini"
    file.write_text(
        f"[DEFAULT]\ntransport_url = embedded://{tmp_path}/bus.db\nenvironments = a:noop\ndefault_provider = b\n"
        f"[database]\nconnection = sqlite:///{tmp_path}/db\n[api]\nbind_port = 0\n"
    )
    code, said = run("evenkeel.cmd.controller", "--config-file", str(file))
    assert code == 2
    assert "default_provider" in said


def test_the_capacity_policy_is_read_in_f5s_form(tmp_path: Path) -> None:
    conf = load(tmp_path, "[DEFAULT]\nhost = h\ncapacity_policy = throughput:1000000000, tenant_count:100\n")
    assert parse_policy(conf.capacity_policy) == {"throughput": 1e9, "tenant_count": 100.0}
    assert parse_policy(load(tmp_path, "[DEFAULT]\nhost = h\n").capacity_policy) == {}
