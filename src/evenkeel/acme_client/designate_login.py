"""Login at OpenStack's DNS service by a cloud of clouds.yaml, which openstacksdk reads."""

from collections.abc import Callable
from typing import Any

from keystoneauth1 import exceptions as auth_errors
from openstack import exceptions as sdk_errors
from openstack.config import OpenStackConfig
from openstack.connection import Connection


def dns_proxy_factory(cloud: str, *, file: str | None, timeout_seconds: float) -> Callable[[], Any]:
    """Return a function that logs in at a cloud of clouds.yaml, and returns openstacksdk's proxy of its DNS service.
    Nothing is sent before it is called.

    ``file``: the clouds.yaml; None: where openstacksdk looks for it. ``timeout_seconds``: of each request. Raises
    :class:`ValueError`, without secrets, for a cloud that is missing or has no login.
    """
    try:
        # Without variables of the environment, which would be added to the cloud's own settings.
        config = OpenStackConfig(load_envvars=False, config_files=None if file is None else [file])
        region = config.get_one(cloud, api_timeout=timeout_seconds)
        region.get_auth()
    except (sdk_errors.ConfigException, auth_errors.ClientException) as error:
        raise ValueError(f"{cloud}: {error}") from error
    return lambda: Connection(config=region).dns
