"""Options of the network service, and opening of the configured one.

Section ``[neutron]`` also contains keystoneauth's options: credentials, endpoint, verification of TLS. Those are known
only where the extra ``neutron`` is installed.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import structlog
from oslo_config import cfg

from evenkeel.cmd.extras import pip_install
from evenkeel.core.ports import Network, Store
from evenkeel.network.builtin import BuiltinNetwork

log = structlog.get_logger(__name__)

NETWORK = [
    cfg.StrOpt(
        "driver",
        default="builtin",
        choices=["builtin", "neutron"],
        help="Network service that allocates VIPs: builtin (address pools in the database), or neutron.",
    ),
]

NEUTRON = [
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
        help="Networks to which devices are attached are read again after this time, seconds: what was changed in "
        "Neutron, and where members' ports are now, reaches the devices then.",
    ),
    cfg.FloatOpt(
        "port_search_interval",
        default=30.0,
        min=5.0,
        max=3600.0,
        help="VIPs' ports are looked for again after this time, seconds, all controllers together: one that was "
        "deleted in Neutron is made again, with the same address if that is free.",
    ),
]

INTERFACES = ("internal", "public")
"""Default of ``valid_interfaces``: the endpoints of Neutron in the service catalogue."""


class OpenedNetwork(NamedTuple):
    """The network of this process."""

    network: Network
    gives_back: bool
    """It creates ports outside the database, which have to be deleted."""
    close: Callable[[], None]


def open_network(conf: cfg.ConfigOpts, store: Store) -> OpenedNetwork:
    """Open the configured network. Connects on first use. Raises :class:`ValueError`."""
    if conf.network.driver == "builtin":
        return OpenedNetwork(BuiltinNetwork(store.operators), gives_back=False, close=lambda: None)
    try:
        from evenkeel.network.neutron.client import NeutronClient
        from evenkeel.network.neutron.driver import NeutronNetwork
    except ImportError as error:
        raise ValueError(
            f"network.driver: neutron needs {error.name}, which is not installed: {pip_install('neutron')}"
        ) from error
    timeout_seconds = conf.neutron.operation_timeout
    session, adapter = _log_in(conf, timeout_seconds)
    client = NeutronClient(
        session,
        endpoint=adapter.endpoint_override,
        region=adapter.region_name,
        interfaces=adapter.interface or list(INTERFACES),
    )
    network = NeutronNetwork(client, store.claims, store.device_ports, timeout_seconds=timeout_seconds)
    return OpenedNetwork(network, gives_back=True, close=network.close)


def _log_in(conf: cfg.ConfigOpts, timeout_seconds: float) -> tuple[Any, Any]:
    """keystoneauth's session and adapter; nothing is sent yet."""
    from keystoneauth1 import exceptions, loading

    group = "neutron"
    loading.register_auth_conf_options(conf, group)
    loading.register_session_conf_options(conf, group)
    loading.register_adapter_conf_options(conf, group)
    try:
        auth = loading.load_auth_from_conf_options(conf, group)
        if auth is None:
            raise ValueError("neutron.auth_type: not set; none (with neutron.endpoint), password, … as keystoneauth's")
        session = loading.load_session_from_conf_options(conf, group, auth=auth)
        adapter = loading.load_adapter_from_conf_options(conf, group, session=session)
    except (exceptions.ClientException, cfg.Error) as error:
        raise ValueError(f"neutron: {error}") from error
    _check_tls(conf.neutron)
    session.timeout = session.timeout or timeout_seconds
    return session, adapter


def _check_tls(section: Any) -> None:
    """Raises :class:`ValueError` for a missing file, which otherwise only the first request would detect."""
    for name in ("cafile", "certfile", "keyfile"):
        path = getattr(section, name)
        if path and not Path(path).is_file():
            raise ValueError(f"neutron.{name}: {path}: no such file")
    if section.insecure:
        log.warning("certificates of Neutron and Keystone are not verified")
