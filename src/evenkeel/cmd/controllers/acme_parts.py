"""Opens the parts of a controller that request certificates from an authority (ACME)."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from oslo_config import cfg

from evenkeel.api.common.acme_requests import AcmeRequests
from evenkeel.cmd.options.extras import pip_install
from evenkeel.cmd.options.key_manager_options import OpenedKeyManager
from evenkeel.controller.acme import AcmeParts, AcmeSettings
from evenkeel.core.devices.capabilities import Capabilities


class OpenedAcme(NamedTuple):
    """The parts of this process; None if certificates cannot be requested."""

    parts: AcmeParts | None
    requests: AcmeRequests | None
    close: Callable[[], None]


NO_ACME = OpenedAcme(None, None, close=lambda: None)


def open_acme(conf: cfg.ConfigOpts, keys: OpenedKeyManager, capabilities: Mapping[str, Capabilities]) -> OpenedAcme:
    """Open the parts; sends no request yet. Raises :class:`ValueError` naming the option."""
    if not conf.acme.directory_url:
        return NO_ACME
    if keys.certificates is None or keys.key_manager is None:
        raise ValueError(
            "acme.directory_url: needs a key manager that controllers can write to:"
            " certificates.key_manager = directory"
        )
    # imported here, because every process declares the options and only controllers may have the libraries
    try:
        from evenkeel.acme_client import AcmeAuthority, DnsResolver, KeyPairs
    except ImportError as error:
        raise ValueError(
            f"acme.directory_url: needs {error.name}, which is not installed: {pip_install('acme')}"
        ) from error
    _check(conf)
    try:
        resolver = DnsResolver(conf.acme.name_servers, timeout_seconds=conf.acme.name_server_timeout)
    except ValueError as error:
        raise ValueError(f"acme.name_servers: {error}") from None
    authority = AcmeAuthority(
        conf.acme.directory_url,
        contact=conf.acme.contact,
        ca_file=conf.acme.ssl_ca_crt_file,
        timeout_seconds=conf.acme.timeout,
    )
    maker = KeyPairs()
    parts = AcmeParts(
        directory_url=conf.acme.directory_url,
        authority=authority,
        resolver=resolver,
        maker=maker,
        certificates=keys.certificates,
        key_manager=keys.key_manager,
        capabilities=capabilities,
        settings=AcmeSettings(lease_seconds=conf.acme.step_timeout, orders_max=conf.acme.orders_at_once),
    )
    requests = AcmeRequests(
        maker=maker, names_max=conf.acme.names_per_certificate, per_project_max=conf.acme.certificates_per_project
    )
    return OpenedAcme(parts, requests, close=authority.close)


def _check(conf: cfg.ConfigOpts) -> None:
    try:
        url = urlsplit(conf.acme.directory_url)
        valid = url.scheme == "https" and url.hostname and (url.port is None or url.port > 0)
    except ValueError:
        valid = False
    if not valid:
        raise ValueError(f"acme.directory_url: {conf.acme.directory_url!r}: https://HOST[:PORT]/PATH is allowed")
    if conf.acme.ssl_ca_crt_file and not Path(conf.acme.ssl_ca_crt_file).is_file():
        raise ValueError(f"acme.ssl_ca_crt_file: there is no file {conf.acme.ssl_ca_crt_file}")
