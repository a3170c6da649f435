"""All configuration objects of one tenant."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from icontrol_as3.schema.classes import SERVICES
from icontrol_as3.schema.declaration import applications, objects
from icontrol_as3.translate import others, policy, pool, service, tls
from icontrol_as3.translate.names import COMMON, Place, Wanted

FOLDER = "sys/folder"
PARTITION = "auth/partition"
_TRANSLATIONS: Mapping[str, Callable[[Place], Iterator[Wanted]]] = {
    **dict.fromkeys(SERVICES, service.service), "Pool": pool.pool, "Monitor": pool.monitor,
    "Persist": others.persist, "TLS_Server": tls.tls_server, "TLS_Client": tls.tls_client,
    "Certificate": tls.certificate, "CA_Bundle": tls.ca_bundle, "Cipher_Rule": tls.cipher_rule,
    "Cipher_Group": tls.cipher_group, "Endpoint_Policy": policy.endpoint_policy, "iRule": others.irule,
    "Data_Group": others.data_group, "HTTP_Profile": others.http_profile,
}  # fmt: skip


def wanted_of(declaration: Mapping[str, Any], tenant: str) -> list[Wanted]:
    """The objects of a tenant, its partition first; none for a tenant without applications.

    Raises `BadReference` for a reference to something that is not in the declaration.
    """
    own = applications(declaration[tenant])
    if not own:
        return []
    found: dict[tuple[str, str], Wanted] = {}
    for each in _wanted_objects(declaration, tenant, own):
        found[each.type, each.path] = each
    return list(found.values())


def _wanted_objects(declaration: Mapping[str, Any], tenant: str, own: Mapping[str, Any]) -> Iterator[Wanted]:
    if tenant != COMMON:
        domain = declaration[tenant].get("defaultRouteDomain", 0)
        yield Wanted(PARTITION, tenant, {"defaultRouteDomain": domain})
    for application, content in own.items():
        yield Wanted(FOLDER, f"/{tenant}/{application}", kept=True)
        for name, item in objects(content).items():
            yield from _TRANSLATIONS[item["class"]](Place(declaration, tenant, application, name))
