"""The message broker of Neutron's configuration as a ``transport_url``: from Neutron's own, or from ``rabbit_*``. Pure.

Neutron of Icehouse to Mitaka names the broker by the options ``rabbit_*`` in ``[DEFAULT]``, since Kilo also in
``[oslo_messaging_rabbit]``, which wins.
"""

from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import parse_qsl, quote, urlencode

from evenkeel.cli.config_import.ini_reading import DEFAULT_SECTION
from evenkeel.cli.config_import.settings import SourceSettings

_RABBIT_SECTION = "oslo_messaging_rabbit"
_BROKER_SECTIONS = (_RABBIT_SECTION, DEFAULT_SECTION)
_BROKER_OPTIONS = (
    "rabbit_hosts",
    "rabbit_host",
    "rabbit_port",
    "rabbit_userid",
    "rabbit_password",
    "rabbit_virtual_host",
)
TLS_FLAGS = ("ssl", "rabbit_use_ssl")
TLS_FILES = {
    "ssl_ca_file": ("kombu_ssl_ca_certs", "ssl_ca_file"),
    "ssl_cert_file": ("kombu_ssl_certfile", "ssl_cert_file"),
    "ssl_key_file": ("kombu_ssl_keyfile", "ssl_key_file"),
}
"""Options of ``transport_url``'s query, each with the names that oslo.messaging had for it."""
_URL_SCHEMES = ("rabbit", "amqp")
_TLS_SCHEMES = ("rabbits", "amqps")
OWN_VHOST_REMARK = "a virtual host of its own (…/evenkeel) is better"


class BrokerSettings(NamedTuple):
    """The message broker of Neutron's configuration. ``url``: for ``transport_url``; empty: there is none.
    ``remark``: comment for the written option. ``problems``: decisions for the operator, without
    passwords.
    """

    url: str
    remark: str
    problems: tuple[str, ...] = ()


def find_broker(settings: SourceSettings) -> BrokerSettings:
    """Return the message broker in Neutron's configuration; its URL is empty if none is configured, or, with
    a problem, if it is not RabbitMQ.
    """
    backend = _first_set_value(settings, "rpc_backend")
    tls = {name: settings.value(_RABBIT_SECTION, name) or settings.value(DEFAULT_SECTION, name) for name in TLS_FLAGS}
    is_tls = any(value.lower() in ("true", "1", "yes", "on") for value in tls.values())
    files = {ours: found for ours, theirs in TLS_FILES.items() if (found := _first_set_value(settings, *theirs))}
    if url := settings.value(DEFAULT_SECTION, "transport_url"):
        return _broker_of_url(url, is_tls, files)
    given = {name: _first_set_value(settings, name) for name in _BROKER_OPTIONS}
    if any(given.values()):
        scheme, query = ("amqps", f"?{urlencode(files)}" if files else "") if is_tls else ("amqp", "")
        vhost = given["rabbit_virtual_host"].removeprefix("/")
        nodes = ",".join(_broker_nodes(given))
        url = f"{scheme}://{nodes}/{quote(vhost, safe='')}{query}"
        return BrokerSettings(url, f"Neutron's message broker, from its rabbit_* options; {OWN_VHOST_REMARK}")
    if backend and not any(word in backend for word in ("rabbit", "kombu")):
        return BrokerSettings(
            "", "", ("rpc_backend: RabbitMQ is the only message broker: write transport_url in both files",)
        )
    return BrokerSettings("", "")


def _broker_of_url(url: str, is_tls: bool, files: dict[str, str]) -> BrokerSettings:
    scheme, _, rest = url.partition("://")
    scheme = scheme.removeprefix("kombu+")
    if scheme not in (*_URL_SCHEMES, *_TLS_SCHEMES) or not rest:
        problem = "transport_url: names no RabbitMQ, the only message broker: write one in both files"
        return BrokerSettings("", "", (problem,))
    place, _, query = rest.partition("?")
    options = dict(parse_qsl(query, keep_blank_values=True))
    is_tls = is_tls or scheme in _TLS_SCHEMES or options.pop("ssl", "").lower() in ("true", "1", "yes", "on")
    files = {**files, **{name: options.pop(name) for name in TLS_FILES if name in options}}
    problems = tuple(f"transport_url: its option {name} has no equivalent, and is left out" for name in sorted(options))
    if is_tls:
        secure = scheme if scheme in _TLS_SCHEMES else f"{scheme}s"
        url = f"{secure}://{place}" + (f"?{urlencode(files)}" if files else "")
    else:
        url = f"{scheme}://{place}"
    return BrokerSettings(url, f"Neutron's message broker; {OWN_VHOST_REMARK}", problems)


def _broker_nodes(broker_options: dict[str, str]) -> Iterator[str]:
    login = ":".join(quote(broker_options[name] or "guest", safe="") for name in ("rabbit_userid", "rabbit_password"))
    port = broker_options["rabbit_port"] or "5672"
    hosts = [host for one in broker_options["rabbit_hosts"].split(",") if (host := one.strip())]
    for host in hosts or [broker_options["rabbit_host"] or "localhost"]:
        has_port = host.rpartition("]")[2].count(":") == 1
        bracketed = f"[{host}]" if host.count(":") > 1 and not host.startswith("[") else host
        yield f"{login}@{bracketed}" if has_port else f"{login}@{bracketed}:{port}"


def _first_set_value(settings: SourceSettings, *names: str) -> str:
    """Return the value of the first of these options that is set, empty if none is; each is looked up in
    ``[oslo_messaging_rabbit]`` first, then in ``[DEFAULT]``.
    """
    found = [settings.value(section, name) for name in names for section in _BROKER_SECTIONS]
    return next((value for value in found if value), "")
