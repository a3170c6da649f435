"""Options of the network service, and opening of the configured one.

Section ``[neutron]`` also contains keystoneauth's options: credentials, endpoint, verification of TLS. Those are known
only where the extra ``neutron`` is installed.
"""

from collections.abc import Callable
from typing import NamedTuple

from oslo_config import cfg

from evenkeel.cmd.options.extras import pip_install_command
from evenkeel.cmd.options.keystone_login import check_tls, keystone_adapter, register_keystone_options
from evenkeel.core.ports import Network, Store
from evenkeel.network.builtin import BuiltinNetwork

NETWORK_OPTIONS = [
    cfg.StrOpt(
        "driver",
        default="builtin",
        choices=["builtin", "neutron"],
        help="Network service that allocates VIPs: builtin (address pools in the database), or neutron.",
    ),
]

NEUTRON_OPTIONS = [
    cfg.FloatOpt(
        "operation_timeout",
        default=20.0,
        min=1.0,
        max=300.0,
        help="Time-out of one step of a request (look-up, creation of a port) at Neutron and Keystone, seconds.",
    ),
    cfg.FloatOpt(
        "facts_interval",
        default=300.0,
        min=5.0,
        max=86_400.0,
        help="Seconds after which networks with attached devices are read again: then devices get changes made in "
        "Neutron and the places of moved members' ports.",
    ),
    cfg.FloatOpt(
        "port_search_interval",
        default=30.0,
        min=5.0,
        max=3600.0,
        help="Seconds after which VIPs' ports are looked for again, by all controllers together: one deleted in "
        "Neutron is made again, with the same address if that is free.",
    ),
]

_NEUTRON_SECTION = "neutron"
ENDPOINT_INTERFACES = ("internal", "public")
"""Default of ``valid_interfaces``: the endpoints of Neutron in the service catalogue."""


class OpenedNetwork(NamedTuple):
    """The network service of a controller, opened."""

    network: Network
    gives_back: bool
    """True if the network service creates ports outside the database, which must be deleted."""
    close: Callable[[], None]


def open_network(conf: cfg.ConfigOpts, store: Store) -> OpenedNetwork:
    """Open the configured network service, which connects on first use. Raises :class:`ValueError` for options that
    cannot be used, or a library that is not installed.
    """
    if conf.network.driver == "builtin":
        return OpenedNetwork(BuiltinNetwork(store.operators), gives_back=False, close=lambda: None)
    try:
        from evenkeel.network.neutron.client import NeutronClient
        from evenkeel.network.neutron.driver import NeutronNetwork
    except ImportError as error:
        raise ValueError(
            f"network.driver: neutron needs {error.name}, which is not installed: {pip_install_command('neutron')}"
        ) from error
    timeout_seconds = conf.neutron.operation_timeout
    register_keystone_options(conf, _NEUTRON_SECTION)
    adapter = keystone_adapter(conf, _NEUTRON_SECTION, timeout_seconds=timeout_seconds)
    check_tls(conf, _NEUTRON_SECTION, "Neutron")
    client = NeutronClient(
        adapter.session,
        endpoint=adapter.endpoint_override,
        region=adapter.region_name,
        interfaces=adapter.interface or list(ENDPOINT_INTERFACES),
    )
    network = NeutronNetwork(client, store.claims, store.device_ports, timeout_seconds=timeout_seconds)
    return OpenedNetwork(network, gives_back=True, close=network.close)
