"""Neutron's RPC by oslo.messaging: blocking calls to Neutron, and the notifications that it sends to all agents."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from oslo_config import cfg
from oslo_service import backend

backend.init_backend(backend.BackendType.THREADING)  # before the import: else oslo.messaging brings in Eventlet

import oslo_messaging  # noqa: E402
import structlog  # noqa: E402

from evenkeel.neutron_agent.forwarding import extract_network_ids  # noqa: E402
from evenkeel.neutron_agent.settings import NeutronAgentSettings  # noqa: E402

log = structlog.get_logger(__name__)

NEUTRON_EXCHANGE = "neutron"
REPORTS, PLUGIN = "q-reports-plugin", "q-plugin"
FORWARDING_TOPIC = "q-agent-notifier-l2population-update"
"""Topic on which Neutron sends forwarding entries to all agents."""
REQUEST_CONTEXT: Mapping[str, Any] = {"is_admin": True, "roles": ["admin"]}
"""Request context of each call: Neutron does not authenticate agents and accepts the roles that they send."""
MESSAGING_ERRORS = (oslo_messaging.MessagingException, OSError)
"""Errors of the message bus, of its connections, and errors that Neutron returns for a call."""


class NeutronBus:
    """Client of Neutron's message bus, for one thread; calls block. Methods raise :data:`MESSAGING_ERRORS`, also when
    a call times out.
    """

    def __init__(self, settings: NeutronAgentSettings) -> None:
        """Configure the transport, which connects on first use. Raises :class:`ValueError` for a bad file or URL."""
        self._settings = settings
        # oslo.messaging reads some options from the process's global object only
        conf = cfg.CONF
        try:
            # An empty list of arguments: oslo.config would otherwise parse those of this process.
            conf([], project="neutron", default_config_files=list(settings.config_files))
            self._transport = oslo_messaging.get_rpc_transport(conf, url=settings.transport_url or None)
        except (cfg.Error, oslo_messaging.DriverLoadFailure) as error:
            raise ValueError(f"neutron_agent: {type(error).__name__}: {error}") from error
        except (oslo_messaging.InvalidTransportURL, ValueError):  # its text has the URL, with the password
            raise ValueError(
                "neutron_agent: transport_url: cannot be used; rabbit://user:password@host:port/vhost is allowed"
            ) from None
        self._server: Any = None

    def report_state(self, state: Mapping[str, Any]) -> str:
        """Send an agent's state to Neutron, and return Neutron's reply: ``new``, ``alive`` or ``revived``.
        Raises :data:`MESSAGING_ERRORS`.
        """
        # Neutron parses exactly this format: UTC with microseconds and without a zone.
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")
        return str(self._call(REPORTS, "report_state", agent_state={"agent_state": dict(state)}, time=now))

    def sync_tunnel(self, kind: str, address: str, host: str) -> int:
        """Register a tunnel end point, so that hosts build tunnels to it. ``kind``: type of tunnel, such as
        ``vxlan``. Returns the number of end points in Neutron's reply. Raises :data:`MESSAGING_ERRORS`.
        """
        answer = self._call(PLUGIN, "tunnel_sync", tunnel_ip=address, tunnel_type=kind, host=host)
        return len(answer.get("tunnels", ())) if isinstance(answer, dict) else 0

    def port_is_bound(self, port_id: str, agent_id: str) -> bool:
        """Return whether Neutron has bound the port to this agent's host; False also for a port that Neutron
        does not have, or if Neutron replies with an error. Raises :data:`MESSAGING_ERRORS` of the bus.
        """
        here = {"device": port_id, "agent_id": agent_id, "host": self._settings.host}
        try:
            details = self._call(PLUGIN, "get_device_details", **here)
        except oslo_messaging.RemoteError as error:
            log.info("port missing in Neutron's reply", port=port_id, error=error.exc_type)
            return False
        # For a port that is not bound here, Neutron replies with the device alone, without `port_id`.
        return isinstance(details, dict) and details.get("port_id") == port_id

    def report_port_up(self, port_id: str, agent_id: str) -> None:
        """Report the port to Neutron as up: Neutron sets it ACTIVE and sends its location to the hosts.
        Raises :data:`MESSAGING_ERRORS`.
        """
        self._call(PLUGIN, "update_device_up", device=port_id, agent_id=agent_id, host=self._settings.host)

    def listen(self, on_networks: Callable[[frozenset[str]], None]) -> None:
        """Start to receive forwarding updates, and return. ``on_networks`` is called with the ids of the
        networks in each update, from a thread of oslo.messaging. Raises :data:`MESSAGING_ERRORS`.
        """
        target = oslo_messaging.Target(exchange=NEUTRON_EXCHANGE, topic=FORWARDING_TOPIC, server=self._settings.host)
        endpoints = [_ForwardingEndpoint(on_networks)]
        server = oslo_messaging.get_rpc_server(self._transport, target, endpoints)
        server.start()
        self._server = server  # a server that did not start cannot be stopped

    def close(self) -> None:
        if self._server is not None:
            self._server.stop()
            self._server.wait()
        self._transport.cleanup()

    def _call(self, topic: str, method: str, **arguments: Any) -> Any:
        target = oslo_messaging.Target(exchange=NEUTRON_EXCHANGE, topic=topic, version="1.0")
        # Without `retry`, oslo.messaging tries to send forever, and the thread would never return.
        client = oslo_messaging.get_rpc_client(self._transport, target, timeout=self._settings.timeout_seconds, retry=1)
        return client.call(dict(REQUEST_CONTEXT), method, **arguments)


class _ForwardingEndpoint:
    """RPC endpoint for Neutron's ``l2population`` notifications to agents."""

    target = oslo_messaging.Target(version="1.4")

    def __init__(self, on_networks: Callable[[frozenset[str]], None]) -> None:
        self._on_networks = on_networks

    # Unknown arguments are accepted, because a later Neutron may send more.
    def add_fdb_entries(self, _context: object, fdb_entries: object = None, **_more: object) -> None:
        """Handle Neutron's notification that ports were added on hosts."""
        self._on_networks(extract_network_ids(fdb_entries))

    def remove_fdb_entries(self, _context: object, fdb_entries: object = None, **_more: object) -> None:
        """Handle Neutron's notification that ports were removed from hosts."""
        self._on_networks(extract_network_ids(fdb_entries))

    def update_fdb_entries(self, _context: object, fdb_entries: object = None, **_more: object) -> None:
        """Handle Neutron's notification that addresses of ports changed."""
        self._on_networks(extract_network_ids(fdb_entries))
