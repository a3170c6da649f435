"""Address of a source's API and login there: a URL without login, or a cloud that is found like ``openstack`` finds it.

Clouds come from ``OS_*``, ``OS_CLOUD`` and ``clouds.yaml`` through openstacksdk, which is needed for them alone.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from evenkeel.cli.client import ApiRefused, Client, UsageError

SERVICE_TYPE = "load-balancer"
_VERSION_PATHS = ("/v2.0", "/v2")


class SourceEndpoint(NamedTuple):
    """The root URL of an OpenStack service, and the authentication headers for it. ``ca_file``: CA
    certificates that verify it; None: the system's.
    """

    url: str
    headers: dict[str, str]
    ca_file: str | None = None


def source_client(
    url: str | None, cloud: str | None, *, ca_file: str | None, timeout_seconds: float, service_type: str = SERVICE_TYPE
) -> Client:
    """Return a client of the source: at ``url`` without a login, else with the login of the cloud ``cloud``;
    None: the cloud in ``OS_*``.

    ``ca_file``: CA certificates that verify the source where the cloud names none. Raises :class:`ApiRefused`
    if the login fails or the catalogue lacks the service, :class:`UsageError` for an unusable URL, file or
    cloud, or without openstacksdk.
    """
    place = SourceEndpoint(url, {}) if url else find_cloud_endpoint(cloud, service_type)
    return Client(
        [_root_url(place.url)],
        timeout_seconds=timeout_seconds,
        login=place.headers,
        ca_file=place.ca_file or ca_file,
    )


def find_cloud_endpoint(cloud: str | None, service_type: str = SERVICE_TYPE) -> SourceEndpoint:
    """Log in to the cloud of this name (None: the one in ``OS_*``), and return the endpoint of its service of
    this type. Raises :class:`ApiRefused` if the login fails or the catalogue lacks the service,
    :class:`UsageError` without openstacksdk or for a cloud whose certificate is not verified.
    """
    region_of = _load_openstacksdk()
    try:
        region = region_of(cloud)
        verified, _ = region.get_requests_verify_args()
        url = region.get_session_endpoint(service_type) if verified else None
        headers = dict(region.get_session().get_auth_headers() or {}) if verified else {}
    except Exception as error:
        # keystoneauth1 and openstacksdk have dozens of unrelated exceptions, whose texts name no password
        raise ApiRefused(0, f"the cloud of the source: {type(error).__name__}: {error}") from error
    if not verified:
        raise UsageError("the cloud of the source is not to be verified (insecure, verify: false): give its cacert")
    if not url:
        raise ApiRefused(0, f"the cloud of the source has no {service_type} in its catalogue")
    return SourceEndpoint(str(url), headers, verified if isinstance(verified, str) else None)


def _load_openstacksdk() -> Callable[[str | None], Any]:
    try:
        from openstack.config import OpenStackConfig
    except ImportError:
        raise UsageError(
            "openstacksdk is not installed, by which a cloud is logged in: install evenkeel-lbaas[neutron], or give"
            " --source-url"
        ) from None
    return lambda cloud: OpenStackConfig().get_one(cloud=cloud)


def _root_url(url: str) -> str:
    """Return the root URL of an API: the URL without the API version at its end, which catalogues may
    contain.
    """
    url = url.rstrip("/")
    return next((url.removesuffix(version) for version in _VERSION_PATHS if url.endswith(version)), url)
