"""Transport URLs with several hosts, in oslo.messaging's syntax.

``rabbit://user:password@host1:5672,user:password@host2:5672/vhost``. A host without a user has that of the preceding
host. An empty virtual host means ``/``. With ``amqps`` the options ``ssl_ca_file``, ``ssl_cert_file`` and
``ssl_key_file`` name files. Certificates are verified unless ``ssl_verify=no`` is given.
"""

from pathlib import Path
from urllib.parse import parse_qsl, unquote

from yarl import URL

from evenkeel.core.kit.values import Value
from evenkeel.core.networking.addresses import host_and_port

HEARTBEAT_SECONDS = 5
IDLE_HEARTBEAT_SECONDS = 20
"""Heartbeat of connections that carry almost no messages, of which each agent has several: at a shorter interval
heartbeats would cost as much as keepalives. See :meth:`evenkeel.bus.amqp.connection.AmqpConnection.verify`.
"""
_TLS_OPTIONS = {"ssl_ca_file": "cafile", "ssl_cert_file": "certfile", "ssl_key_file": "keyfile"}
_VERIFY_BY_WORD = {"yes": True, "no": False}
_TLS_BY_SCHEME = {"amqp": False, "rabbit": False, "amqps": True, "rabbits": True}


class Node(Value):
    """One broker of the cluster, with the credentials and TLS options to connect to it. ``tls_files``: pairs
    of the client library's option and a path.
    """

    host: str
    port: int
    user: str = "guest"
    password: str = "guest"  # noqa: S105  # RabbitMQ's public default, which it takes from loopback only
    vhost: str = "/"
    tls: bool = False
    tls_files: tuple[tuple[str, str], ...] = ()
    tls_verify: bool = True

    def __str__(self) -> str:
        return host_and_port(self.host, self.port)

    def __repr__(self) -> str:
        return f"Node({self})"  # hides the password in logs and tracebacks

    def url(self, client_name: str, *, idle: bool = False) -> URL:
        """Return the node's URL for the client library, which contains the password. ``idle``: heartbeats
        every 20 instead of every 5 seconds.
        """
        return URL.build(
            scheme="amqps" if self.tls else "amqp",
            user=self.user,
            password=self.password,
            host=self.host,
            port=self.port,
            path=f"/{'' if self.vhost == '/' else self.vhost}",
            query={
                "heartbeat": str(IDLE_HEARTBEAT_SECONDS if idle else HEARTBEAT_SECONDS),
                "name": client_name,
                "no_verify_ssl": "0" if self.tls_verify else "1",
                **dict(self.tls_files),
            },
        )


def parse_nodes(transport_url: str) -> tuple[Node, ...]:
    """Return the brokers that the URL lists, in order. Raises :class:`ValueError` for an invalid URL or
    option, or a missing TLS file; the text never contains the URL.
    """
    scheme, _, rest = transport_url.partition("://")
    if scheme not in _TLS_BY_SCHEME:
        raise ValueError("transport_url: not an AMQP URL")
    rest, _, query = rest.partition("?")
    authority, _, path = rest.partition("/")
    tls = _TLS_BY_SCHEME[scheme]
    files, verify = _tls_options(query, tls)
    common = {"vhost": unquote(path) or "/", "tls": tls, "tls_files": files, "tls_verify": verify}
    nodes: list[Node] = []
    # RabbitMQ's defaults; each part may replace them for itself and for the parts that follow, as in oslo.messaging.
    user, password = "guest", "guest"
    for part in authority.split(","):
        # From the right, because a password may contain an @.
        credentials, at, location = part.rpartition("@")
        if at:
            user, _, password = (unquote(word) for word in credentials.partition(":"))
        host, port = _parse_location(location, 5671 if tls else 5672)
        nodes.append(Node(host=host, port=port, user=user, password=password, **common))  # type: ignore[arg-type]
    return tuple(nodes)


def _parse_location(text: str, default_port: int) -> tuple[str, int]:
    # An IPv6 address has colons of its own, so the port is looked for behind the bracket only.
    host, bracket, port = text.strip().rpartition("]")
    if bracket:  # [IPv6]:port
        host, port = host.removeprefix("["), port.removeprefix(":")
    else:
        host, _, port = text.strip().partition(":")
    if not host:
        raise ValueError("transport_url: a host is missing")
    if not port:
        return host, default_port
    if not port.isdecimal() or not 0 < int(port) < 65536:
        raise ValueError(f"transport_url: the port of {host} is not a number from 1 to 65535")
    return host, int(port)


def _tls_options(query: str, tls: bool) -> tuple[tuple[tuple[str, str], ...], bool]:
    options = dict(parse_qsl(query, keep_blank_values=True))
    if options and not tls:
        raise ValueError("transport_url: ssl options need amqps")
    verify = options.pop("ssl_verify", "yes")
    if verify not in _VERIFY_BY_WORD:
        raise ValueError("transport_url: ssl_verify is yes or no")
    unknown = sorted(set(options) - set(_TLS_OPTIONS))
    if unknown:
        raise ValueError(
            f"transport_url: unknown option {unknown[0]!r}; known are {', '.join(_TLS_OPTIONS)} and ssl_verify"
        )
    for name, path in options.items():
        if not Path(path).is_file():
            raise ValueError(f"transport_url: {name} {path} is no file")
    return tuple((_TLS_OPTIONS[name], value) for name, value in sorted(options.items())), _VERIFY_BY_WORD[verify]
