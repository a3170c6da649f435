"""Clients of OpenStack services, logged in at Keystone by keystoneauth, which must be installed.

keystoneauth's options for credentials, endpoint and verification of TLS are in the service's own section.
"""

from pathlib import Path
from typing import Any

import structlog
from oslo_config import cfg

log = structlog.get_logger(__name__)


def register_keystone_options(conf: cfg.ConfigOpts, group: str) -> None:
    """Register keystoneauth's options in the section ``group``, except for the options of a login method."""
    from keystoneauth1 import loading

    loading.register_auth_conf_options(conf, group)
    loading.register_session_conf_options(conf, group)
    loading.register_adapter_conf_options(conf, group)


def keystone_adapter(conf: cfg.ConfigOpts, group: str, *, timeout_seconds: float, **login: str) -> Any:
    """Create keystoneauth's adapter, with its session, from the section ``group``; no request is sent yet.

    ``login`` overrides options of the login method by name. ``timeout_seconds`` limits a request unless the
    section sets a time-out. Raises :class:`ValueError` for missing credentials and unknown auth types.
    """
    from keystoneauth1 import exceptions, loading

    try:
        auth = loading.load_auth_from_conf_options(conf, group, **login)
        if auth is None:
            raise auth_type_missing(group)
        session = loading.load_session_from_conf_options(conf, group, auth=auth)
        adapter = loading.load_adapter_from_conf_options(conf, group, session=session)
    except (exceptions.ClientException, cfg.Error) as error:
        raise ValueError(f"{group}: {error}") from error
    # keystoneauth waits without a limit unless the section sets one.
    session.timeout = session.timeout or timeout_seconds
    return adapter


def auth_type_missing(group: str) -> ValueError:
    """Return the error for the section ``group``, which has no auth type."""
    return ValueError(f"{group}.auth_type: not set; none (with {group}.endpoint), password, … as keystoneauth's")


def check_tls(conf: cfg.ConfigOpts, group: str, service: str) -> None:
    """Check a section's TLS options at the start. Raises :class:`ValueError` for a missing file; logs a warning if
    ``insecure`` turns verification off. ``service``: name of the remote service, for the log.
    """
    section = conf[group]
    for name in ("cafile", "certfile", "keyfile"):
        path = section[name]
        if path and not Path(path).is_file():
            raise ValueError(f"{group}.{name}: {path}: no such file")
    if section.insecure:
        log.warning(f"certificates of {service} and Keystone are not verified")
