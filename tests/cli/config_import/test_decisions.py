"""Decisions that the import leaves to operators: of files as F5's examples and deployments have them."""

import base64
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from evenkeel.cli.config_import.f5_options import HIERARCHICAL_BINDING_REMARK
from evenkeel.cli.config_import.ini_reading import read_ini
from evenkeel.cli.config_import.translation import ConfigurationImporter, ConfigurationImportResult
from evenkeel.cmd import operators
from tests import log_handlers

USUAL = "environment_prefix = Test\nicontrol_hostname = 192.0.2.1,192.0.2.2\nicontrol_password = word\n"
HOST = "[DEFAULT]\nhost = net-1\n"


def imported(agent: str, neutron: str = HOST) -> ConfigurationImportResult:
    return ConfigurationImporter(read_ini(f"[DEFAULT]\n{agent}"), read_ini(neutron), "/new").run()


def written(result: ConfigurationImportResult, section: str = "bigip") -> dict[str, str | None]:
    return {line.option: line.value for line in (*result.controller, *result.agent) if line.section == section}


def fates(result: ConfigurationImportResult) -> dict[str, tuple[str, str]]:
    return {one.option: (one.fate, one.remark) for one in result.findings}


def test_empty_values_and_none_of_f5s_examples_are_unset() -> None:
    result = imported(
        f"{USUAL}f5_global_routed_mode = False\nadvertised_tunnel_types =\nf5_vtep_selfip_name = None\n"
        "f5_network_segment_physical_network =\nl3_binding_driver = None\nagent_id = None\ncapacity_policy = {}\n"
        "icontrol_vcmp_hostname = None\nf5_vtep_folder = 'None'\ninterface_port_static_mappings = ''\n"
    )
    assert not result.problems
    assert {"f5_vtep_selfip_name", "f5_vtep_folder", "icontrol_vcmp_hostname"}.isdisjoint(written(result))
    assert fates(result)["l3_binding_driver"] == ("dropped", "has no value, so it is not set")


def test_hierarchical_port_binding_is_reported_to_be_refused() -> None:
    result = imported(f"{USUAL}f5_network_segment_physical_network = physnet1\n")
    assert result.problems == (f"f5_network_segment_physical_network: {HIERARCHICAL_BINDING_REMARK}",)
    assert fates(result)["f5_network_segment_physical_network"] == ("dropped", HIERARCHICAL_BINDING_REMARK)
    assert "refused" in HIERARCHICAL_BINDING_REMARK


@pytest.mark.parametrize(
    ("kind", "hosts", "told"),
    [
        ("pair", "a", "f5_ha_type: pair, but icontrol_hostname names one device: name both, or write standalone"),
        ("standalone", "a,b", "f5_ha_type: standalone is for 1 devices, and icontrol_hostname names 2"),
        ("scalen", "a", "icontrol_hostname: name every device"),
        ("cluster", "a,b", "f5_ha_type: standalone, pair, scalen are allowed"),
        ("Pair", "a,b,a", ""),
    ],
)
@pytest.mark.parametrize("routed", [True, False])
def test_type_that_does_not_fit_the_devices_is_a_decision(kind: str, hosts: str, told: str, routed: bool) -> None:
    result = imported(f"{USUAL}f5_ha_type = {kind}\nicontrol_hostname = {hosts}\nf5_global_routed_mode = {routed}\n")
    assert len(result.problems) == bool(told) and "".join(result.problems).startswith(told)


def test_passwords_in_base64_are_decoded() -> None:
    encoded = base64.b64encode(b"p\xc3\xa4ss$w").decode()
    login = "cert_manager = x.BarbicanCertManager\nos_auth_url = https://k/v2.0\nos_username = u\n"
    result = imported(
        f"{USUAL}{login}password_cipher_mode = True\nicontrol_password = {encoded}\nos_password = {encoded}\n"
    )
    assert result.password == "päss$w" and not result.problems
    barbican = written(result, "barbican")
    assert (barbican["password"], barbican["auth_url"]) == ("päss$w", "https://k")
    assert barbican["user_domain_id"] == "default"


@pytest.mark.parametrize("secret", ["gAAAA*", base64.b64encode(b"\x00\x91\xff").decode()])
def test_passwords_that_f5s_agent_has_encrypted_are_a_decision(secret: str) -> None:
    result = imported(f"{USUAL}password_cipher_mode = True\nicontrol_password = {secret}\n")
    assert result.password == "" and secret not in str(result.problems)
    assert result.problems == ("icontrol_password: is encrypted (password_cipher_mode): write the password",)


def test_barbican_without_a_login_leaves_no_half_section() -> None:
    result = imported(f"{USUAL}cert_manager = x.BarbicanCertManager\nos_username = u\nos_password = None\n")
    assert not written(result, "barbican")
    assert result.problems == ("os_auth_url, os_password: not set: write the login in [barbican], with key_manager",)


def test_keystone_without_a_login_leaves_no_half_section() -> None:
    result = imported(USUAL, f"{HOST}[keystone_authtoken]\nauth_uri = http://k\nsigning_dir = /x\nadmin_token = t\n")
    sections = {line.section for line in result.controller}
    assert sections.isdisjoint({"keystone_authtoken", "neutron", "network"})
    assert [one.partition(":")[0] for one in result.problems] == ["keystone_authtoken"]


def test_legacy_options_of_neutron_are_listed_with_their_fate() -> None:
    legacy = "admin_user = u\nadmin_password = p\nadmin_tenant_name = t\nsigning_dir = /x\n"
    result = imported(
        f"{USUAL}verbose = True\nrabbit_password = p\n",
        f"{HOST}rabbit_host = mq\ncore_plugin = ml2\n[keystone_authtoken]\nidentity_uri = http://k\n{legacy}",
    )
    found = {option: fate for option, (fate, _) in fates(result).items() if option.startswith("[")}
    assert found == {
        "[DEFAULT] host": "kept",
        "[DEFAULT] rabbit_host": "replaced",
        "[DEFAULT] rabbit_password": "replaced",
        "[keystone_authtoken] identity_uri": "replaced",
        "[keystone_authtoken] admin_user": "replaced",
        "[keystone_authtoken] admin_password": "replaced",
        "[keystone_authtoken] admin_tenant_name": "replaced",
        "[keystone_authtoken] signing_dir": "dropped",
    }
    assert not result.problems and written(result, "DEFAULT")["transport_url"] == "amqp://guest:p@mq:5672/"


def test_file_of_9_10_names_the_decisions_only() -> None:
    result = imported(
        "f5_agent_mode = lite\nperiodic_interval = 10\nprovider_name = f5networks\navailability_zone = az1\n"
        "member_update_interval = 300\nconfig_save_interval = 60\nresync_interval = -1\nuse_mgmt_ipv6 = False\n"
        "persistence_timeout = 1800\nvtep_ip = 192.0.2.9\nsnat_subnetpool_v4 =\nconnection_rate_limit_ratio = 1\n"
    )
    assert [one.partition(":")[0] for one in result.problems] == [
        "persistence_timeout",
        "vtep_ip",
        "icontrol_hostname",
        "icontrol_password",
    ]
    assert not [one for one in result.findings if "no option" in one.remark]


def test_agent_of_v1_has_its_own_defaults() -> None:
    result = imported(
        "f5_bigip_lbaas_device_driver = f5.oslbaasv1agent.drivers.bigip.icontrol_driver.iControlDriver\n"
        "icontrol_hostname = a,b\nicontrol_password = word\nf5_vtep_selfip_name = vtep\n"
    )
    assert written(result)["f5_global_routed_mode"] == "False"
    assert written(result)["advertised_tunnel_types"] == "gre,vxlan"
    assert written(result, "DEFAULT")["environment_prefix"] == "uuid"
    assert [one.partition(":")[0] for one in result.problems] == ["environment_prefix"]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ("advertised_tunnel_types = vxlan\n", "f5_vtep_selfip_name"),
        ("advertised_tunnel_types = vlan\n", "advertised_tunnel_types"),
        ("external_gateway_mode = True\n", "external_gateway_mode"),
        ("use_namespaces = perhaps\n", "use_namespaces"),
        ("f5_sync_mode = autosync\n", "f5_sync_mode"),
    ],
)
def test_attachment_that_is_not_possible_is_a_decision(options: str, named: str) -> None:
    result = imported(f"{USUAL}f5_global_routed_mode = False\n{options}")
    assert [one.partition(":")[0] for one in result.problems] == [named]


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Run ``evenkeel config …`` of a host with the processes' libraries; returns standard error."""

    def ran(*words: str, code: int) -> str:
        monkeypatch.setattr(sys, "argv", ["evenkeel", "config", *words])
        assert operators.main() == code
        log_handlers.remove()
        return capsys.readouterr().err

    return ran


def importing(folder: Path, agent: bytes) -> tuple[str, ...]:
    (folder / "agent").write_bytes(b"[DEFAULT]\n" + agent)
    # keystonemiddleware would log that www_authenticate_uri is not set
    login = "admin_user = u\nadmin_password = p\nadmin_tenant_name = t\n"
    (folder / "neutron").write_text(f"{HOST}[keystone_authtoken]\nidentity_uri = http://k\n{login}")
    files = "--agent-ini", str(folder / "agent"), "--neutron-conf", str(folder / "neutron")
    return "import", *files, "--output", str(folder / "new")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_import_without_a_decision_is_accepted_by_both_processes(run: Callable[..., str], tmp_path: Path) -> None:
    assert run(*importing(tmp_path, "# Größe\n".encode("latin-1") + USUAL.encode()), code=0) == ""
    for process in ("controller", "agent"):
        run("check", process, "--config-file", str(tmp_path / "new" / f"{process}.ini"), code=0)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_values_that_a_process_refuses_are_shown_by_the_import(run: Callable[..., str], tmp_path: Path) -> None:
    options = "f5_global_routed_mode = False\nmax_namespaces_per_tenant = 999\nf5_ha_type = scalen\n"
    told = run(*importing(tmp_path, f"{USUAL}{options}icontrol_hostname = a\n".encode()), code=1).splitlines()
    # What the import has named is not shown again in the check's words.
    assert len(told) == 2 and told[0].startswith("problem: icontrol_hostname: name every device")
    assert "[bigip] max_namespaces_per_tenant: '999': an integer (1 to 256) is allowed" in told[1]
