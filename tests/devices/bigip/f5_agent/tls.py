"""Certificates of TERMINATED_HTTPS listeners: files and client-ssl profiles in /Common, by the id of a container."""

from collections.abc import Iterator

from evenkeel.core.devices.service import ServiceListener
from tests.devices.bigip.f5_agent.requests import COMMON, Request, create, remove
from tests.devices.bigip.f5_agent.tenants import Tenant

DOWNLOADS = "/var/config/rest/downloads"


def containers_of(listener: ServiceListener) -> list[str]:
    """Ids of the default container, and then of those for SNI."""
    if listener.protocol != "TERMINATED_HTTPS":
        return []
    references = [listener.default_tls_container_ref, *listener.sni_container_refs]
    return [str(each).rpartition("/")[2] for each in references if each]


def client_ssl_names(tenant: Tenant, listener: ServiceListener) -> list[str]:
    return [tenant.named(each) for each in containers_of(listener)]


def create_profiles(tenant: Tenant, listener: ServiceListener) -> Iterator[Request]:
    """After certificate and key were uploaded to :data:`DOWNLOADS` under the names of their files."""
    for place, name in enumerate(client_ssl_names(tenant, listener)):
        for kind, ending in (("cert", "crt"), ("key", "key")):
            file = f"{name}.{ending}"
            body = {"command": "install", "name": file, "from-local-file": f"{DOWNLOADS}/{file}"}
            yield Request("POST", f"sys/crypto/{kind}", body)
        chain = [{"name": name, "cert": f"/{COMMON}/{name}.crt", "key": f"/{COMMON}/{name}.key"}]
        body = {"certKeyChain": chain, "sniDefault": place == 0, "defaultsFrom": None}
        yield create("ltm/profile/client-ssl", COMMON, name, **body)


def remove_profiles(tenant: Tenant, listener: ServiceListener) -> Iterator[Request]:
    """The files stay."""
    for name in client_ssl_names(tenant, listener):
        yield remove("ltm/profile/client-ssl", COMMON, name)
