"""Opens the parts of a controller that request certificates from authorities (ACME)."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from oslo_config import cfg

from evenkeel.api.common.acme_requests import AcmeRequests
from evenkeel.cmd.controllers.acme_authorities import configured_authorities, read_hmac_key
from evenkeel.cmd.controllers.dns_zones import configured_zones, open_zone
from evenkeel.cmd.options.extras import pip_install_command
from evenkeel.cmd.options.key_manager_options import OpenedKeyManager
from evenkeel.controller.acme import AcmeDependencies, AcmeSettings, ConfiguredAuthority
from evenkeel.core.devices.capabilities import Capabilities


class AcmeComponents(NamedTuple):
    """The parts of this process for certificates by ACME; ``parts`` and ``requests`` are None if no authority
    is configured.
    """

    parts: AcmeDependencies | None
    requests: AcmeRequests | None
    close: Callable[[], None]


NO_ACME = AcmeComponents(None, None, close=lambda: None)


def open_acme(conf: cfg.ConfigOpts, keys: OpenedKeyManager, capabilities: Mapping[str, Capabilities]) -> AcmeComponents:
    """Open the parts for certificates by ACME; sends no request yet. Raises :class:`ValueError` naming the
    option, also if a library is not installed.
    """
    configured, zones = configured_authorities(conf), configured_zones(conf)
    if not configured:
        if zones:
            raise ValueError(f"{zones[0].section}: needs an authority that names are proven to: acme.directory_url")
        return NO_ACME
    if keys.certificates is None or keys.key_manager is None:
        raise ValueError(
            f"{configured[0].section}.directory_url: needs a key manager that controllers can write to:"
            " certificates.key_manager = directory, or vault with vault.writable; Barbican's secrets cannot be replaced"
            " under their references"
        )
    # imported here, because every process declares the options and only controllers may have the libraries
    try:
        from evenkeel.acme_client import AcmeAuthority, DnsResolver, ExternalAccount, KeyPairs
    except ImportError as error:
        raise ValueError(
            f"acme.directory_url: needs {error.name}, which is not installed: {pip_install_command('acme')}"
        ) from error
    try:
        resolver = DnsResolver(conf.acme.name_servers, timeout_seconds=conf.acme.name_server_timeout)
    except ValueError as error:
        raise ValueError(f"acme.name_servers: {error}") from None
    external = {each.name: read_hmac_key(each) for each in configured}
    clients = {
        each.name: AcmeAuthority(
            each.directory_url,
            contact=each.contact,
            ca_file=each.ssl_ca_crt_file,
            timeout_seconds=conf.acme.timeout,
            external_account=None if (key := external[each.name]) is None else ExternalAccount(each.eab_key_id, key),
            caa_identities=each.caa_identities,
        )
        for each in configured
    }
    maker = KeyPairs()
    opened_zones = [open_zone(each, resolver) for each in zones]
    parts = AcmeDependencies(
        authorities={each.name: ConfiguredAuthority(each.account, clients[each.name]) for each in configured},
        resolver=resolver,
        maker=maker,
        certificates=keys.certificates,
        key_manager=keys.key_manager,
        capabilities=capabilities,
        zones=[each.used for each in opened_zones],
        settings=AcmeSettings(lease_seconds=conf.acme.step_timeout, orders_max=conf.acme.orders_at_once),
    )
    requests = AcmeRequests(
        maker=maker,
        authorities=[each.scope for each in configured],
        zones=[each.scope for each in zones],
        names_max=conf.acme.names_per_certificate,
        per_project_max=conf.acme.certificates_per_project,
    )

    def close() -> None:
        for client in clients.values():
            client.close()
        for zone in opened_zones:
            zone.close()

    return AcmeComponents(parts, requests, close)
