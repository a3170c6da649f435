"""Authentication and authorization by the controller's options, and checks that they are safe at the server's
address.
"""

from pathlib import Path
from typing import NamedTuple

import structlog
from oslo_config import cfg

from evenkeel.api.http.origins import OriginRule
from evenkeel.api.http.rate_limit import RateLimit
from evenkeel.api.identity.caller import Authenticator
from evenkeel.api.identity.headers import TrustedHeaders
from evenkeel.api.identity.none import NoAuthentication
from evenkeel.api.identity.password_file import PasswordFileIdentity
from evenkeel.api.identity.users import watched_users
from evenkeel.api.policy.policy import Policy, open_policy
from evenkeel.cmd.options.extras import pip_install_command
from evenkeel.cmd.options.server_tls import api_tls_context
from evenkeel.cmd.process.runtime import SystemClock
from evenkeel.config.problems import Problems
from evenkeel.core.networking.addresses import is_loopback

log = structlog.get_logger(__name__)


class RequestAdmission(NamedTuple):
    """Decides whether a request is admitted: authentication, authorization, rate limit, allowed origins of pages."""

    identity: Authenticator
    policy: Policy
    rate_limit: RateLimit
    origins: OriginRule


def open_admission(conf: cfg.ConfigOpts) -> RequestAdmission:
    """Open the parts that admit requests, and check the API's TLS options. Raises :class:`ValueError` naming
    the options.
    """
    with Problems() as problems:
        # Only checked, so that its problem is reported with the others; the server opens it itself.
        problems.collect_from(lambda: api_tls_context(conf))
        identity = problems.collect_from(lambda: open_identity(conf))
        policy = problems.collect_from(lambda: open_policy(conf))
        origins = problems.collect_from(lambda: OriginRule(conf.api.trusted_origins))
    return RequestAdmission(identity, policy, RateLimit(conf.api.rate_limit, conf.api.rate_limit_burst), origins)


def open_identity(conf: cfg.ConfigOpts) -> Authenticator:
    """Open the authenticator that ``[identity] kind`` names. Raises :class:`ValueError` naming the option."""
    kind = conf.identity.kind
    if kind == "password_file":
        return PasswordFileIdentity(watched_users(Path(conf.identity.password_file)), SystemClock())
    if kind == "trusted_headers":
        return TrustedHeaders(frozenset(conf.identity.gateway_names))
    if kind == "keystone":
        return _open_keystone_identity(conf)
    return NoAuthentication()


def _open_keystone_identity(conf: cfg.ConfigOpts) -> Authenticator:
    try:
        from evenkeel.api.identity.keystone import open_keystone
    except ModuleNotFoundError as error:
        lacking = f"{error.name}, which is not installed: {pip_install_command('keystone')}"
        raise ValueError(f"identity.kind: keystone needs {lacking}") from error
    return open_keystone(conf)


def check_exposure(conf: cfg.ConfigOpts) -> None:
    """Raise :class:`ValueError` if clients of other hosts could take any identity and that is not allowed;
    log a warning if it is, or if passwords are sent in clear text.
    """
    kind, tls = conf.identity.kind, bool(conf.api.ssl_cert_file)
    host = conf.api.bind_host
    if is_loopback(host):
        return
    if kind == "none":
        if not conf.api.allow_unauthenticated:
            raise ValueError(
                f"api.bind_host: {host!r} is not a loopback address, and there is no authentication; "
                "bind to 127.0.0.1 behind a gateway, set identity.kind, or set api.allow_unauthenticated"
            )
        log.warning("the API is open to every client that can connect", host=host)
    elif kind == "trusted_headers" and not conf.api.ssl_client_ca_file:
        raise ValueError(
            f"api.bind_host: {host!r} is not a loopback address; identity.kind = trusted_headers needs "
            "api.ssl_client_ca_file there, so that only the gateway can connect"
        )
    elif not tls:
        log.warning("passwords and tokens are sent in clear text; set api.ssl_cert_file", host=host)
