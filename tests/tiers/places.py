"""Folders and files of tests that are slow, start servers, or belong to the release tier: below ``tests``, or below
``packages`` in the repository's root."""

from functools import cache
from typing import NamedTuple

SLOW = {
    "acceptance": "whole processes, killed for real",
    "api/common/test_openapi.py": "hundreds of generated requests",
    "api/identity/test_real_keystone.py": "a Keystone",
    "api/identity/test_stock_clients.py": "stock clients in processes of their own",
    "api/neutron/test_neutron_shell_v1.py": "a process for each command of the stock client",
    "api/neutron/test_neutron_shell_v2.py": "the same",
    "api/test_bad_input.py": "every attribute with every kind of bad value",
    "api/test_clients.py": "stock clients in processes of their own",
    "api/test_command_line_clients.py": "the same",
    "api/test_horizon.py": "a Horizon and a Keystone",
    "api/test_isolation.py": "every route, by strangers to a project",
    "api/test_limits.py": "the largest requests there may be",
    "api/test_path_routing.py": "proxies before a whole system",
    "api/test_openapi_stateful.py": "thousands of generated requests",
    "api/test_personas.py": "every route, by every persona",
    "api/test_query_counts.py": "every route, with little and much in the database",
    "api/test_races.py": "many clients of two controllers",
    "api/test_sdk_clients.py": "the SDK against a whole controller",
    "api/test_status_trees.py": "the largest load balancers there may be",
    "cloud": "a Keystone, a controller and an agent, and suites of others",
    "cmd/controllers/workers/test_processes.py": "controllers' processes",
    "cmd/process/test_service_manager.py": "controllers' and agents' processes",
    "cmd/test_certificates.py": "a controller's and an agent's processes",
    "cmd/test_commands.py": "an interpreter for each command",
    "cmd/test_haproxyd.py": "daemons' processes",
    "compat": "thousands of requests, and a stock Octavia",
    "demo": "the demo's processes",
    "devices/bigip/sync/test_removal.py": "thousands of requests to emulated BIG-IPs, which copy configurations",
    "devices/bigip/sync/test_sync_mode.py": "thousands of requests to emulated BIG-IPs, which copy configurations",
    "devices/bigip/test_adopted_networks.py": "thousands of requests to emulated BIG-IPs",
    "devices/bigip/test_adopted_tls.py": "thousands of requests to emulated BIG-IPs",
    "devices/bigip/test_adoption.py": "thousands of requests to emulated BIG-IPs",
    "devices/bigip/test_budget.py": "thousands of requests to emulated BIG-IPs",
    "devices/bigip/test_challenges.py": "clients of emulated BIG-IPs",
    "devices/bigip/test_common_networks.py": "thousands of requests to emulated BIG-IPs",
    "devices/bigip/test_environments.py": "thousands of requests to emulated BIG-IPs",
    "devices/bigip/test_f5_replay.py": "thousands of requests to emulated BIG-IPs",
    "devices/bigip/test_f5_replay_traffic.py": "thousands of requests to emulated BIG-IPs, with clients",
    "devices/bigip/test_f5_route_domains.py": "thousands of requests to emulated BIG-IPs",
    "devices/bigip/test_l7_traffic.py": "clients of emulated BIG-IPs",
    "devices/bigip/test_no_writes.py": "thousands of requests to emulated BIG-IPs",
    "devices/bigip/test_powered_off.py": "thousands of requests to emulated BIG-IPs",
    "devices/bigip/test_random_changes.py": "thousands of requests to emulated BIG-IPs",
    "devices/bigip/test_random_networks.py": "thousands of requests to emulated BIG-IPs",
    "devices/bigip/test_removed_partition.py": "thousands of requests to emulated BIG-IPs, with a crash at every write",
    "devices/bigip/test_replacements.py": "thousands of requests to emulated BIG-IPs",
    "devices/bigip/test_shared_nodes.py": "thousands of requests to emulated BIG-IPs, with a crash at every write",
    "devices/bigip/test_tls_traffic.py": "clients of emulated BIG-IPs",
    "devices/bigip/test_traffic.py": "clients of emulated BIG-IPs",
    "devices/bigip/test_variants.py": "every value of every attribute, on emulated BIG-IPs",
    "devices/bigip/test_vcmp.py": "thousands of requests to emulated BIG-IPs",
    "devices/haproxy/test_contract.py": "a daemon and real HAProxys",
    "devices/haproxy/test_hostile_strings.py": "a real HAProxy for each string",
    "devices/haproxy/test_lost_state.py": "a daemon and real HAProxys",
    "devices/haproxy/test_mozilla.py": "a daemon and real HAProxys",
    "devices/haproxy/test_pair.py": "a daemon and real HAProxys",
    "devices/haproxy/test_prometheus.py": "a daemon and real HAProxys",
    "devices/haproxy/test_tls.py": "a daemon and real HAProxys",
    "devices/haproxy/test_traffic.py": "a daemon and real HAProxys",
    "devices/test_capabilities.py": "every value of every attribute, on every device type",
    "devices/test_largest.py": "the largest load balancers there may be",
    "equivalence/test_bigip_histories.py": "devices with traffic",
    "equivalence/test_histories.py": "daemons and real HAProxys",
    "equivalence/test_many_histories.py": "the same, many times",
    "equivalence/octavia": "Octavia, and real HAProxys",
    "equivalence/test_planted_faults.py": "daemons and real HAProxys",
    "fuzz": "hundreds of strangers",
    "haproxyd/haproxy/test_worker_users.py": "real HAProxys of other users",
    "haproxyd/layer4/test_connections.py": "network namespaces",
    "haproxyd/layer4/test_daemon_tcp.py": "daemons' processes, real HAProxys and network namespaces",
    "haproxyd/layer4/test_daemon_udp.py": "daemons' processes, real HAProxys and network namespaces",
    "haproxyd/layer4/test_kernel.py": "network namespaces",
    "haproxyd/layer4/test_quic.py": "network namespaces",
    "haproxyd/layer4/test_pair.py": "pairs of daemons with VRRP in network namespaces",
    "haproxyd/partition": "real HAProxys for most tests",
    "haproxyd/test_daemon.py": "a daemon and real HAProxys",
    "haproxyd/test_daemon_process.py": "a daemon's process",
    "haproxyd/test_own_addresses.py": "daemons' processes",
    "haproxyd/test_unit.py": "a daemon's process, and systemd",
    "key_managers/barbican/test_real_barbican.py": "a Barbican",
    "key_managers/barbican/test_with_keystone.py": "a Barbican and a Keystone",
    "key_managers/vault/test_certificates.py": "an OpenBao",
    "key_managers/vault/test_key_manager.py": "an OpenBao",
    "model": "a model checker",
    "octavia": "a stock Octavia, a controller, an agent and HAProxy",
    "network/neutron": "a real Neutron for most tests",
    "packaging/test_ansible.py": "ansible-lint, half a minute",
    "packaging/test_helm_chart.py": "every choice of the chart, rendered",
    "packaging/test_images.py": "a linter",
    "packaging/test_man_pages.py": "an interpreter for each command",
    "packaging/test_release.py": "releases, built twice",
    "services": "the servers that tests start",
    "sim": "thousands of simulated seconds",
    "store/engine/test_urgent.py": "a database that is kept busy",
    "store/test_query_counts.py": "little and much in the database",
    "packages/icontrol-emulator/tests/emulator_tests/test_strangers.py": (
        "clients in an environment of their own, hundreds of requests"
    ),
    "system": "controllers, agents and emulated devices, for minutes of virtual time",
    "tiers/test_runner.py": "pytest processes",
    "tiers/test_workers.py": "the same",
    "upgrade": "whole processes of two versions",
}
"""What ``scripts/test --quick`` leaves out, and what makes it slow."""

SERVERS = (
    "acme_client",
    "api/identity/test_stock_clients.py",
    "api/neutron/test_neutron_bindings.py",
    "api/neutron/test_neutron_shell_v1.py",
    "api/neutron/test_neutron_shell_v2.py",
    "api/test_clients.py",
    "api/test_command_line_clients.py",
    "api/common/test_openapi.py",
    "api/test_openapi_stateful.py",
    "api/test_path_routing.py",
    "api/test_races.py",
    "api/test_sdk_clients.py",
    "bus",
    "cloud",
    "cmd",
    "compat/lbaas/test_old_clients.py",
    "compat/octavia/test_stock.py",
    "demo",
    "devices/bigip",
    "devices/haproxy",
    "devices/test_package.py",
    "equivalence",
    "fuzz",
    "haproxyd",
    "key_managers/barbican",
    "key_managers/test_layouts_served.py",
    "key_managers/vault",
    "metrics",
    "network/neutron",
    "neutron_agent",
    "octavia",
    "packages/evenkeel-neutron",
    "packages/evenkeel-octavia",
    "packages/icontrol-as3",
    "packages/icontrol-emulator",
    "packaging",
    "serving",
    "services",
    "system/bigip_features",
    "system/test_bigip_move.py",
    "system/test_move_traffic.py",
    "system/test_network_traffic.py",
    "system/test_parallel_networks.py",
    "system/test_rabbitmq_users.py",
    "tracing",
    "ui",
)
"""Tests that start processes or wait for sockets: a busy machine can make them fail. Tests marked ``services`` or
``acceptance`` are such tests wherever they are."""

PURE = (
    "cmd/configuration",
    "devices/bigip/observe",
    "devices/bigip/reconcile",
    "devices/bigip/render",
    "devices/bigip/test_reach.py",
    "devices/haproxy/observe",
    "devices/haproxy/render",
    "haproxyd/layer4/test_weighted_numbers.py",
    "haproxyd/layer4/test_transaction.py",
    *(
        f"packages/evenkeel-octavia/tests/octavia_tests/test_{name}.py"
        for name in ("convert", "drift", "options", "reports")
    ),
)
"""Folders and files inside of :data:`SERVERS` that compute only."""


ACCEPTANCE = ("acceptance", "demo", "fuzz", "packaging", "ui", "upgrade")
"""The only places of tests marked ``acceptance``."""

WITHOUT_SERVERS = (
    *("agent", "cli", "config", "controller", "core", "model", "sealing", "sim", "tiers"),
    *("api/http", "api/octavia", "api/operators", "api/pages", "api/policy", "api/responses", "api/usecases"),
    *("api/common/test_event_feed.py", "api/common/test_event_stopping.py", "api/common/test_event_stream.py"),
    *("compat/octavia/test_ours.py", "devices/test_capabilities.py", "devices/test_largest.py"),
)
"""Places of no test marked ``services`` or ``acceptance``, which tiers of these need not import."""


class ReleaseTests(NamedTuple):
    """Tests of the release tier: when their own paths changed they run in every full run too."""

    reason: str
    paths: tuple[str, ...]
    """Files and folders, below the repository's root, that the tests depend on and other tests do not cover."""


# bugs.py and test files are other tests' own
_MACHINERY = (
    *("aftermath", "bigip", "broker", "bus", "chaos", "clients", "database", "device", "effects", "loop", "networks"),
    *("pool_clients", "process", "replacement", "run", "scenario", "silence", "verdict", "watch", "watchdog", "world"),
)
_SIMULATION = tuple(f"tests/sim/{module}.py" for module in _MACHINERY)
_CUTS = ("tests/sim/test_every_effect.py", "tests/sim/effects.py", "tests/sim/story.py")
_OCTAVIA = ("tests/compat/octavia", "tests/compat/compare.py", "tests/compat/table.py", "tests/compat/replay.py")
_CLOUD = ("tests/cloud", "tests/services/installation.py", "tests/services/keystone.py", "tests/services/openstack.py")

_AT_LENGTH = ReleaseTests("the full length of a test that every run has in short, in release runs only", ())
_DEBIAN = (
    "tests/packaging/test_debian_packages.py",
    "packaging/debian",
    "scripts/build-deb",
    "requirements/debian.txt",
)

RELEASE = {
    **dict.fromkeys(
        (
            "acceptance/test_acme.py::test_more_",
            "acceptance/test_history.py::test_more_",
            "acceptance/test_hitless.py::test_no_request_of_more_clients_fails",
            "acceptance/test_loss.py::test_kills_of_every_part_under_many_more_writes",
            "api/common/test_openapi.py::test_more_",
            "api/test_openapi_stateful.py::test_more_",
            "devices/bigip/test_shared_nodes.py::test_more_",
            "demo/test_demo.py::test_the_demo_keeps_its_promises_to_ten_times_the_requests",
            "system/test_network_traffic.py::test_more_",
        ),
        _AT_LENGTH,
    ),
    "api/test_horizon.py": ReleaseTests(
        "a live Horizon", ("tests/api/test_horizon.py", "tests/services/horizon.py", "docs/how-to/use-horizon.md")
    ),
    "cloud/test_ansible.py": ReleaseTests("a live Ansible", (*_CLOUD, "tests/services/ansible.py")),
    "cloud/test_heat.py": ReleaseTests("a live Heat", (*_CLOUD, "tests/services/heat.py")),
    "cloud/test_import.py": ReleaseTests(
        "a login at a live Keystone", (*_CLOUD, "src/evenkeel/cli/moving_in/octavia/login.py")
    ),
    "cloud/test_neutron_plugin.py": ReleaseTests(
        "a live Neutron of a cloud",
        (*_CLOUD, "packages/evenkeel-neutron/src", "tests/network/neutron_server/server.py"),
    ),
    "cloud/test_provider_login.py": ReleaseTests(
        "a login at a live Keystone",
        (
            *_CLOUD,
            *(f"packages/evenkeel-octavia/src/evenkeel_octavia/{part}.py" for part in ("credentials", "options")),
        ),
    ),
    "cloud/test_sdk_functional.py": ReleaseTests("the SDK's own functional tests", _CLOUD),
    "compat/octavia/test_stock.py": ReleaseTests("a live stock Octavia", _OCTAVIA),
    "demo/octavia/test_behind.py": ReleaseTests(
        "a live stock Octavia", ("tests/demo/octavia/test_behind.py", "src/evenkeel/demo/octavia")
    ),
    "devices/haproxy/test_mozilla.py": ReleaseTests(
        "a live sslyze", ("tests/devices/haproxy/test_mozilla.py", "src/evenkeel/devices/haproxy/render/tls.py")
    ),
    "equivalence/test_many_histories.py": ReleaseTests(
        "hundreds of histories", ("tests/equivalence/test_many_histories.py",)
    ),
    "equivalence/octavia": ReleaseTests("Octavia's own configurations", ("tests/equivalence/octavia",)),
    "octavia/test_tempest.py": ReleaseTests("hundreds of published tests, in release runs only", ()),
    "octavia/test_whole_storm.py": ReleaseTests("500 operations, in release runs only", ()),
    "octavia/test_import.py": ReleaseTests(
        "500 load balancers of a live stock Octavia",
        (
            *("tests/octavia/test_import.py", "tests/octavia/amphorae.py", "tests/octavia/mixed.py"),
            *("src/evenkeel/cli/moving_in", "src/evenkeel/api/usecases/imports.py", "src/evenkeel/store/imports"),
        ),
    ),
    "octavia": ReleaseTests(
        "a live stock Octavia",
        (
            "tests/octavia",
            "tests/services/octavia.py",
            "src/evenkeel/demo/octavia",
            "packages/evenkeel-octavia/src",
            "src/evenkeel/api/operators/mirror",
            "src/evenkeel/store/mirrors",
        ),
    ),
    "packages/icontrol-as3": ReleaseTests(
        "AS3 on the emulator", ("packages/icontrol-as3", "packages/icontrol-emulator/src")
    ),
    "packages/icontrol-emulator": ReleaseTests("the emulator alone", ("packages/icontrol-emulator",)),
    "packaging/test_alerts_fire.py": ReleaseTests(
        "every alert, in a live Prometheus",
        ("tests/packaging/test_alerts_fire.py", "tests/services/prometheus.py", "packaging/prometheus"),
    ),
    "packaging/test_ansible.py::test_the_playbook_leads": ReleaseTests(
        "seven hosts, installed and upgraded by Ansible",
        (
            *("tests/packaging/test_ansible.py", "tests/packaging/debian_hosts.py", "tests/packaging/apt_proxy.py"),
            *("packaging/ansible", "packaging/systemd"),
        ),
    ),
    **{
        f"packaging/test_images.py::{test}": ReleaseTests(
            "images, built",
            (
                *("tests/packaging/test_images.py", "packaging/containers", "requirements/images"),
                *("scripts/build-images", "scripts/build"),
            ),
        )
        for test in ("test_images_are_built", "test_an_image_has")
    },
    **{
        f"packaging/test_debian_packages.py::{test}": ReleaseTests("minutes of building", _DEBIAN)
        for test in ("test_built", "test_lintian", "test_packages_are", "test_two_builds")
    },
    "packaging/test_install_on_debian.py::test_the_page_leads": ReleaseTests(
        "seven hosts, installed as documented",
        (
            "tests/packaging/test_install_on_debian.py",
            "tests/packaging/debian_hosts.py",
            "docs/how-to/install.md",
            "packaging/systemd",
            "scripts/build",
        ),
    ),
    **{
        f"sim/test_every_effect.py::{test}": ReleaseTests("a crash at every effect", _CUTS)
        for test in (
            "test_whatever_effect_is_cut",
            "test_crash_at_every_effect_on_shared",
            "test_no_write_lands",
            "test_without_the_floor",
        )
    },
    "sim/test_planted_bugs.py::test_more_": ReleaseTests("a search for seeds, in release runs only", ()),
    "sim/test_loss_seeds.py::test_more_": ReleaseTests("seeds beyond the budget of each run", _SIMULATION),
    "sim/test_pool_seeds.py::test_more_": ReleaseTests("seeds beyond the budget of each run", _SIMULATION),
    "sim/test_replaced_seeds.py::test_more_": ReleaseTests("seeds beyond the budget of each run", _SIMULATION),
    "sim/test_silent_seeds.py::test_more_": ReleaseTests("seeds beyond the budget of each run", _SIMULATION),
    "sim/test_tenant_seeds.py::test_more_": ReleaseTests("seeds beyond the budget of each run", _SIMULATION),
    "sim/test_seeds.py::test_more_": ReleaseTests("seeds beyond the budget of each run", _SIMULATION),
    "upgrade/test_upgrade.py::test_an_upgrade_and_a_step_back_lose": ReleaseTests(
        "ten processes replaced under load",
        (
            "tests/upgrade",
            "src/evenkeel/core/protocol",
            "src/evenkeel/core/devices",
            "src/evenkeel/haproxyd/wire.py",
            "src/evenkeel/store/migrations/versions",
        ),
    ),
    "upgrade/test_upgrade.py::test_an_upgrade_and_a_step_back_with_servers": ReleaseTests(
        "the same on PostgreSQL and RabbitMQ", ()
    ),
}
"""Files, folders or beginnings of node ids of tests that only ``scripts/test --release`` always runs."""


def is_in(path: str, place: str) -> bool:
    """Whether a path is a place or below it."""
    return path == place or path.startswith(f"{place}/")


def is_slow(path: str) -> bool:
    """Whether quick runs leave a file out."""
    return any(is_in(path, place) for place in SLOW)


def needs_servers(path: str) -> bool:
    """Whether tests of a file start processes or wait for sockets."""
    return any(is_in(path, place) for place in SERVERS) and not any(is_in(path, place) for place in PURE)


def may_need_services(path: str) -> bool:
    """Whether a file may have tests marked ``services``."""
    return not any(is_in(path, place) for place in WITHOUT_SERVERS)


def may_be_acceptance(path: str) -> bool:
    """Whether a file may have tests marked ``acceptance``."""
    return any(is_in(path, place) for place in ACCEPTANCE)


def release_place(node_id: str) -> str | None:
    """The key of :data:`RELEASE` that a node id (below ``tests``) belongs to; None if every full run has the test."""
    for place in _release_places(node_id.partition("::")[0]):
        if "::" not in place or node_id.startswith(place):
            return place
    return None


@cache
def _release_places(path: str) -> tuple[str, ...]:
    """The keys of :data:`RELEASE` that hold a file, or tests of it."""
    return tuple(place for place in RELEASE if is_in(path, place.partition("::")[0]))
