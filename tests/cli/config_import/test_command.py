"""The configuration of F5's agent and Neutron, imported: our own option check takes what comes of it."""

import errno
import json
import stat
import warnings
from pathlib import Path
from typing import Any

import pytest

from evenkeel.cli.config_import.f5_options import F5_OPTIONS
from evenkeel.cmd import agent
from evenkeel.cmd.configuration.loading import load_configuration
from evenkeel.cmd.configuration.sections import AGENT_OPTION_GROUPS, CONTROLLER_OPTION_GROUPS
from evenkeel.cmd.controllers import controller_parts
from tests.cli.conftest import Run

SECRETS = ("ic$$trl", "ic$trl", "rabbit-word", "keystone-word", "barbican-word")
AGENT_INI = """
[DEFAULT]
debug = False
periodic_interval = 10
service_resync_interval = 500
environment_prefix = 'Test'
capacity_policy = throughput:1000000000, active_connections: 250000
f5_ha_type = pair
f5_external_physical_mappings = default:1.1:True
f5_global_routed_mode = True
icontrol_hostname = 192.0.2.7,
    192.0.2.8
icontrol_username = admin
icontrol_password = ic$$trl
cert_manager = f5_openstack_agent.lbaasv2.drivers.bigip.barbican_cert.BarbicanCertManager
os_auth_url = https://keystone.example:5000/v3
os_username = lbaas
os_password = barbican-word
os_user_domain_name = Default
f5_parent_ssl_profile = clientssl
"""
NEUTRON_CONF = """
[DEFAULT]
transport_url = rabbit://neutron:rabbit-word@mq1:5672,neutron:rabbit-word@mq2:5672//
core_plugin = ml2
host = net-1
f5_loadbalancer_pool_scheduler_driver_v2 = f5lbaasdriver.v2.bigip.agent_scheduler.TenantScheduler
[AGENT]
report_interval = 30
[keystone_authtoken]
auth_url = https://keystone.example:5000
auth_type = password
username = neutron
password = keystone-word
user_domain_name = Default
project_name = service
project_domain_name = Default
memcached_servers = cache:11211
[quotas]
quota_loadbalancer = 20
quota_pool = -1
[service_providers]
service_provider = LOADBALANCERV2:F5Networks:neutron_lbaas.drivers.f5.driver_v2.F5LBaaSV2Driver:default
service_provider = LOADBALANCERV2:Haproxy:neutron_lbaas.drivers.haproxy.plugin_driver.HaproxyOnHostPluginDriver
"""


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, ...]:
    """The arguments that name them, and the folder to write to."""
    agent_ini, neutron = tmp_path / "f5-openstack-agent.ini", tmp_path / "neutron.conf"
    agent_ini.write_text(AGENT_INI)
    neutron.write_text(NEUTRON_CONF)
    named = ("--agent-ini", str(agent_ini), "--neutron-conf", str(neutron), "--output", str(tmp_path / "new"))
    return ("config", "import", *named)


def rows(ran: Any) -> dict[str, dict[str, str]]:
    return {row["option"]: row for row in json.loads(ran.out)}


def test_the_files_are_taken_by_the_controller_and_the_agent(
    evenkeel: Run, files: tuple[str, ...], tmp_path: Path
) -> None:
    ran = evenkeel(*files, "-f", "json")
    assert ran.code == 1
    assert ran.err == "problem: service_provider F5Networks: the provider that tenants name is Test here\n"
    new = tmp_path / "new"
    theirs = load_configuration("evenkeel-agent", ["--config-file", str(new / "agent.ini")], groups=AGENT_OPTION_GROUPS)
    settings = agent.agent_settings(theirs)
    assert (settings.environment, settings.group_number, settings.host) == ("Test", 1, "net-1")
    assert (settings.resync_interval_seconds, settings.report_interval_seconds) == (500.0, 30.0)
    assert theirs.capacity_policy == "throughput:1000000000, active_connections: 250000"
    options = agent.driver_options(theirs)
    assert options["icontrol_hostname"] == ["192.0.2.7", "192.0.2.8"]
    assert (options["icontrol_password"], options["f5_parent_ssl_profile"]) == ("ic$trl", "/Common/clientssl")
    assert agent.open_device(theirs).facts.endpoints == ("192.0.2.7:443", "192.0.2.8:443")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # WebOb imports the standard library's cgi
        ours = load_configuration(
            "evenkeel-controller", ["--config-file", str(new / "controller.ini")], groups=CONTROLLER_OPTION_GROUPS
        )
    assert [controller_parts.parse_environment(item).name for item in ours.environments] == ["Test"]
    assert (ours.default_provider, ours.identity.kind, ours.network.driver) == ("Test", "keystone", "neutron")
    assert (ours.quotas.default_load_balancer_quota, ours.quotas.default_pool_quota) == (20, -1)
    assert (
        ours.transport_url
        == theirs.transport_url
        == "rabbit://neutron:rabbit-word@mq1:5672,neutron:rabbit-word@mq2:5672//"
    )
    assert ours.certificates.key_manager == "barbican"


def test_secrets_are_in_private_files_and_nowhere_else(evenkeel: Run, files: tuple[str, ...], tmp_path: Path) -> None:
    ran = evenkeel(*files)
    assert not [secret for secret in SECRETS if secret in ran.out + ran.err]
    written = sorted((tmp_path / "new").iterdir())
    assert [file.name for file in written] == ["agent.ini", "controller.ini", "icontrol_password"]
    assert {stat.S_IMODE(file.stat().st_mode) for file in written} == {0o600}
    assert (tmp_path / "new" / "icontrol_password").read_text() == "ic$trl\n"
    assert "barbican-word" not in (tmp_path / "new" / "agent.ini").read_text()


def test_every_option_is_listed_with_what_becomes_of_it(evenkeel: Run, files: tuple[str, ...]) -> None:
    found = rows(evenkeel(*files, "-f", "json"))
    assert found["icontrol_hostname"]["fate"] == "kept"
    assert found["periodic_interval"]["fate"] == "replaced"
    assert found["f5_external_physical_mappings"]["fate"] == "kept"
    assert found["[DEFAULT] transport_url"]["fate"] == "kept"
    assert found["[DEFAULT] f5_loadbalancer_pool_scheduler_driver_v2"]["fate"] == "replaced"
    assert found["1 others"]["remark"].startswith("Neutron's own")


def test_files_that_are_there_are_replaced_only_by_force(evenkeel: Run, files: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "agent.ini").write_text("mine")
    ran = evenkeel(*files)
    assert ran.code == 2 and "agent.ini exist" in ran.err
    assert (tmp_path / "new" / "agent.ini").read_text() == "mine"
    assert evenkeel(*files, "--force").code == 1
    assert stat.S_IMODE((tmp_path / "new" / "agent.ini").stat().st_mode) == 0o600


def test_a_file_that_cannot_be_written_leaves_the_others_as_they_were(
    evenkeel: Run, files: tuple[str, ...], tmp_path: Path
) -> None:
    folder = tmp_path / "new"
    (folder / ".icontrol_password.new").mkdir(parents=True)  # in the place of the file that would be renamed
    ran = evenkeel(*files)
    assert ran.code == 2 and str(folder) in ran.err
    assert [file.name for file in folder.iterdir()] == [".icontrol_password.new"]


def test_directory_in_place_of_a_file_is_not_replaced_by_force(
    evenkeel: Run, files: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "new" / "icontrol_password").mkdir(parents=True)
    ran = evenkeel(*files, "--force")
    assert ran.code == 2 and "icontrol_password: not a regular file" in ran.err
    assert [file.name for file in (tmp_path / "new").iterdir()] == ["icontrol_password"]


def test_files_that_were_renamed_before_a_failure_are_named(
    evenkeel: Run, files: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Path.replace

    def replace(self: Path, target: Path) -> Path:
        if target.name == "agent.ini":
            raise OSError(errno.EIO, "Input/output error")
        return real(self, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", replace)
        ran = evenkeel(*files)
    assert ran.code == 2 and "Input/output error; new are only controller.ini" in ran.err
    assert [file.name for file in (tmp_path / "new").iterdir()] == ["controller.ini"]


def test_option_without_an_equivalent_is_a_problem(evenkeel: Run, tmp_path: Path) -> None:
    file = tmp_path / "agent.ini"
    file.write_text(
        "[DEFAULT]\nenvironment_prefix = a b\nl3_binding_driver = a.B\nf5_ha_type = scalen\n"
        "icontrol_hostname = 192.0.2.1\nnonsense = 5\nf5_snat_mode = True\n"
    )
    ran = evenkeel("config", "import", "--agent-ini", str(file), "--output", str(tmp_path / "new"))
    assert ran.code == 1
    told = [line.removeprefix("problem: ").partition(":")[0] for line in ran.err.splitlines()]
    assert told == [
        "host",
        "icontrol_hostname",
        "l3_binding_driver",
        "nonsense",
        "environment_prefix",
        "icontrol_password",
    ]


def test_attachment_of_devices_to_networks_is_kept(evenkeel: Run, tmp_path: Path) -> None:
    file, written = tmp_path / "agent.ini", tmp_path / "new" / "agent.ini"
    file.write_text(
        "[DEFAULT]\nf5_global_routed_mode = False\nicontrol_hostname = 192.0.2.1,192.0.2.2\nicontrol_password = x\n"
        "f5_external_physical_mappings = physnet1:1.1:True,physnet2:1.2:False\n"
        "f5_vtep_folder = 'Common'\nf5_vtep_selfip_name = 'vtep'\nmax_namespaces_per_tenant = 2\n"
        "common_network_ids = {'one': 'vlan-1', 'two': 'vlan-2'}\nf5_snat_mode = True\n"
    )
    ran = evenkeel("config", "import", "--agent-ini", str(file), "--output", str(written.parent))
    assert ran.code == 1 and ran.err == "problem: host: not set: name the agent's host in agent.ini\n"
    text = written.read_text().replace("# transport_url =", "transport_url = amqp://mq/v")
    written.write_text(text.replace("# host =", "host = h"))
    section = load_configuration("agent", ["--config-file", str(written)], groups=AGENT_OPTION_GROUPS).bigip
    assert not section.f5_global_routed_mode and section.max_namespaces_per_tenant == 2
    assert section.f5_external_physical_mappings == ["physnet1:1.1:True", "physnet2:1.2:False"]
    assert (section.advertised_tunnel_types, section.f5_vtep_selfip_name) == (["vxlan"], "vtep")
    assert section.common_network_ids == ["one: vlan-1", "two: vlan-2"]


def test_files_that_cannot_be_read_are_named(evenkeel: Run, tmp_path: Path) -> None:
    bad = tmp_path / "bad.ini"
    for content, told in (
        (b"[DEFAULT]\npassword secret\n", "line 2"),
        (b"\xff", "line 1: is not text in UTF-8"),
        (b"#" * 1048577, "bytes"),
    ):
        bad.write_bytes(content)
        ran = evenkeel("config", "import", "--agent-ini", str(bad), "--output", str(tmp_path / "new"))
        assert ran.code == 2 and told in ran.err and "secret" not in ran.err
    ran = evenkeel("config", "import", "--agent-ini", str(tmp_path / "none"), "--output", str(tmp_path / "new"))
    assert ran.code == 2 and "No such file" in ran.err


def test_every_option_that_is_dropped_or_replaced_states_why() -> None:
    assert all(option.remark for option in F5_OPTIONS.values())
    assert {option.fate for option in F5_OPTIONS.values()} == {"kept", "replaced", "dropped"}
