"""Whatever files F5's agent had: the processes take what the import writes, or the import names what to decide.

Options are drawn from F5's declarations, with values that people have written.
"""

import re
import warnings
from collections.abc import Iterator
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import structlog
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from evenkeel.cli.config_import.ini_reading import decode_ini, read_ini
from evenkeel.cli.config_import.rendering import render_ini_file
from evenkeel.cli.config_import.translation import PASSWORD_FILE, QUOTA_OPTIONS, ConfigurationImporter
from evenkeel.cmd.configuration.checked_import import written_file_refusals
from tests.cli.config_import.f5_declarations import DECLARATIONS, Declaration

UNSET = ("", "None", "<None>", "''")
BY_KIND = {
    "bool": ("True", "false", "1", "No", "maybe"),
    "int": ("0", "1", "-1", "7", "86400", "x", "1.5"),
    "str": ("a", "'quoted'", "a b", "$nothing", "pa$$word", "/Common/a", "x" * 300),
    "list": ("a", "a,b", "a:1.1:True"),
    "dict": ("a:1", "{'a': 'b'}", "{}"),
}
BY_NAME = {
    "f5_ha_type": ("standalone", "pair", "scalen", "Pair", "cluster"),
    "icontrol_hostname": (
        "192.0.2.1",
        "192.0.2.1,192.0.2.2",
        "bigip1, bigip2,bigip1",
        "2001:db8::1",
        "a,b,c,d,e",
        "https://a/",
    ),
    "icontrol_vcmp_hostname": ("192.0.2.9", "192.0.2.1"),
    "f5_external_physical_mappings": (
        "default:1.1:True",
        "physnet1:1.1:True,physnet2:trunk:False",
        "physnet1",
        "a:b:c",
    ),
    "advertised_tunnel_types": ("vxlan", "gre,vxlan", "vlan", "gre"),
    "f5_vtep_folder": ("'Common'", "/Common/"),
    "f5_vtep_selfip_name": ("'vtep'", "my vtep"),
    "common_network_ids": ("{'a': 'b', 'c': 'd'}", "a:b"),
    "capacity_policy": ("throughput:1000000000, active_connections: 250000", "throughput: x", "nonsense:1", "{}"),
    "cert_manager": ("f5_openstack_agent.lbaasv2.drivers.bigip.barbican_cert.BarbicanCertManager", "x.Other"),
    "os_auth_url": ("https://k:5000/v2.0", "k"),
    "environment_prefix": ("Test", "'Project'", "a b", "é"),
    "f5_sync_mode": ("replication", "autosync"),
    "f5_bigip_lbaas_device_driver": ("f5.oslbaasv1agent.drivers.bigip.icontrol_driver.iControlDriver",),
    "icontrol_password": ("admin", "c2VjcmV0", "pa$$word", "'\"'", "#x"),
}
NEUTRON: dict[str, dict[str, tuple[str, ...]]] = {
    "DEFAULT": {
        "host": ("net-1", "$my_ip"),
        "my_ip": ("192.0.2.5",),
        "transport_url": ("rabbit://u:p@mq//", "rabbit://u:p@mq//?ssl=1&heartbeat=3", "zmq://x", "mq"),
        "rpc_backend": ("rabbit", "qpid"),
        "rabbit_host": ("mq", "::1"),
        "rabbit_hosts": ("mq:5672,mq2", "mq:x"),
        "rabbit_password": ("p", "p@/:"),
        "rabbit_virtual_host": ("/", "net"),
        "rabbit_use_ssl": ("True", "False"),
        "verbose": ("True",),
    },
    "keystone_authtoken": {
        "auth_url": ("https://k", "https://k/v2.0"),
        "auth_uri": ("https://k",),
        "auth_type": ("password", "v3password", "v3applicationcredential", "v3kerberos"),
        "auth_plugin": ("password",),
        "username": ("neutron",),
        "password": ("p", "p$$w"),
        "project_name": ("service",),
        "user_domain_name": ("Default",),
        "identity_uri": ("http://k:35357/",),
        "admin_user": ("neutron",),
        "admin_password": ("p",),
        "admin_tenant_name": ("service",),
        "auth_host": ("k",),
        "auth_port": ("35357",),
        "insecure": ("False", "x"),
        "cafile": ("/nowhere/ca.pem",),
        "memcached_servers": ("c:11211",),
        "signing_dir": ("/var/cache/neutron",),
    },
    "oslo_messaging_rabbit": {"rabbit_host": ("mq",), "kombu_ssl_ca_certs": ("/nowhere/ca.pem",), "ssl": ("True",)},
    "quotas": {"quota_loadbalancer": ("10", "-1", "-5", "x"), "quota_member": ("99999999999",)},
    "AGENT": {"report_interval": ("30", "0", "0.1", "x")},
    "service_providers": {"service_provider": ("LOADBALANCERV2:F5Networks:f5.driver:default", "x")},
}
USUAL = {"environment_prefix": "Test", "icontrol_hostname": "192.0.2.1,192.0.2.2", "icontrol_password": "word"}
OURS = {"transport_url", *QUOTA_OPTIONS.values()}
"""Options with a value of the operator's that has another name there."""
OPTION = re.compile(r"(?:\S+:\d+: )?(?:\[[^\]]*\] )?([\w.]+)(?:, [\w.]+)*: ")


def values_of(declared: Declaration) -> st.SearchStrategy[str]:
    named = BY_NAME.get(declared.name, BY_KIND[declared.kind])
    return st.sampled_from((declared.default, *UNSET, *named, *named))


@st.composite
def agent_files(draw: st.DrawFn) -> str:
    """A file of F5's agent, which often has what is needed."""
    options = dict(draw(st.sampled_from((USUAL, USUAL, {}))))
    # Options that are written here are drawn more often than others.
    listed = [one for one in DECLARATIONS if one.name in BY_NAME or one.kind in ("bool", "list", "dict")]
    for declared in draw(st.lists(st.sampled_from((*listed, *DECLARATIONS)), max_size=12)):
        options[declared.name] = draw(values_of(declared))
    return "[DEFAULT]\n" + "".join(f"{name} = {value}\n" for name, value in options.items())


@st.composite
def neutron_files(draw: st.DrawFn) -> str:
    lines = []
    for section, options in NEUTRON.items():
        lines.append(f"[{section}]")
        for name in draw(st.lists(st.sampled_from(sorted(options)), unique=True)):
            lines.append(f"{name} = {draw(st.sampled_from((*options[name], *options[name], '')))}")
    return "\n".join(lines)


@pytest.fixture(autouse=True, scope="module")
def _quick() -> Iterator[None]:
    """Entry points of installed packages are read once, not twice per check."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("evenkeel.cmd.options.device_drivers.entry_points", cache(entry_points))
        yield


@pytest.fixture(autouse=True)
def _quiet() -> None:
    warnings.simplefilter("ignore", DeprecationWarning)  # WebOb imports the standard library's cgi


# No shrinking: each example is a whole check of two processes.
@settings(max_examples=25, phases=[Phase.explicit, Phase.generate])
@given(agent_files(), neutron_files())
def test_processes_refuse_only_what_the_import_names_or_the_operator_has_written(agent: str, neutron: str) -> None:
    with TemporaryDirectory() as name, structlog.testing.capture_logs():
        folder = Path(name)
        files = read_ini(decode_ini(agent.encode())), read_ini(neutron)
        result = ConfigurationImporter(*files, name).run()
        (folder / "controller.ini").write_text(render_ini_file(result.controller, "x"))
        (folder / "agent.ini").write_text(render_ini_file(result.agent, "x"))
        (folder / PASSWORD_FILE).write_text(f"{result.password}\n")
        refused = written_file_refusals(folder, result.problems)
    written = {option for file in files for options in file.values() for option in options} | OURS
    for problem in refused:
        match = OPTION.match(problem)
        assert match and match[1].rpartition(".")[2] in written, problem


@settings(max_examples=60)
@given(st.fixed_dictionaries({}, optional={one.name: values_of(one) for one in DECLARATIONS}))
def test_each_option_is_listed_once_with_its_fate(options: dict[str, str]) -> None:
    text = "[DEFAULT]\n" + "".join(f"{name} = {value}\n" for name, value in options.items())
    result = ConfigurationImporter(read_ini(text), {}, "/x").run()
    assert [one.option for one in result.findings] == list(options)
    assert not [one for one in result.problems if "is called so" in one]
