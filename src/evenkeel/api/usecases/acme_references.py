"""This module adds the certificate authority that a load balancer's flavor names to references ``acme://…``
of its listeners, which are stored with it.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from msgspec.structs import replace

from evenkeel.api.common.services import Services
from evenkeel.api.usecases.flavor_data import flavor_data_of
from evenkeel.core.control.lists import ListQuery
from evenkeel.core.kit.errors import Invalid
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.resources.catalogue import ACME_AUTHORITY, acme_authority_of
from evenkeel.core.resources.model import Listener, LoadBalancerTree
from evenkeel.core.tls.acme.references import RULE, is_acme_reference, reference_for_tenants, with_authority
from evenkeel.core.tls.certificate_references import ChangedReferences, ListenerReferences

DEFAULT, SNI = "default_tls_container_ref", "sni_container_refs"
"""Attributes of listeners that may have references ``acme://…``."""
REFERENCE_CHARACTERS_MAX = 255


def check_authority(services: Services, name: str) -> None:
    """Check that controllers have the authority ``name``, which a flavor names; empty: it names none. Raises
    :class:`Invalid` if they do not.
    """
    known = [] if services.acme is None else [each.name for each in services.acme.authorities]
    if name and name not in known:
        allowed = f"one of {', '.join(sorted(known))}" if known else "left out: the controllers have none"
        raise Invalid(f"{name} is not a valid option for flavor_data: {ACME_AUTHORITY} should be {allowed}.")


def add_authority_to_tree(tree: LoadBalancerTree, authority: str) -> LoadBalancerTree:
    """Return a requested load balancer whose listeners' references ``acme://…`` name the authority of its
    flavor (empty: the project's). Raises :class:`Invalid` for a malformed or too long reference.
    """
    return replace(tree, listeners=tuple(add_authority_to_listener(row, authority) for row in tree.listeners))


def add_authority_to_listener(row: Listener, authority: str) -> Listener:
    """Return a requested listener whose references ``acme://…`` name the authority (empty: the project's).
    Raises :class:`Invalid` for a malformed or too long reference.
    """
    given = _acme_references_of(row)
    return replace(row, **_add_authority_to_references(given, authority)) if requests_certificates(given) else row


async def add_flavors_authority(services: Services, row: Listener) -> Listener:
    """Return a requested listener whose references ``acme://…`` name the authority of its load balancer's
    flavor. Without such references nothing is read. Raises :class:`Invalid` for a malformed or too long
    reference, :class:`NotFound` for the load balancer.
    """
    if not requests_certificates(_acme_references_of(row)):
        return row
    return add_authority_to_listener(row, await read_authority(services, row.load_balancer_id))


async def add_flavors_authority_to_changes(
    services: Services, load_balancer_id: LoadBalancerId, changes: dict[str, Any]
) -> dict[str, Any]:
    """Return a listener's changes, in which references ``acme://…`` name the authority of its load balancer's
    flavor. Raises :class:`Invalid` for a malformed or too long reference, :class:`NotFound` for the load
    balancer.
    """
    return changes | _add_authority_to_references(changes, await read_authority(services, load_balancer_id))


async def read_authority(services: Services, load_balancer_id: LoadBalancerId) -> str:
    """Return the certificate authority that the load balancer's flavor names; empty if it names none. Raises
    :class:`NotFound` for the load balancer.
    """
    return acme_authority_of(await flavor_data_of(services, load_balancer_id))


class ResizedListener(NamedTuple):
    """A listener whose references another flavor changes."""

    before: Listener
    after: Listener

    @property
    def references(self) -> ChangedReferences:
        """The references before and after the change."""
        return ChangedReferences(self.after.id, ListenerReferences.of(self.before), ListenerReferences.of(self.after))


async def resized_listeners(
    services: Services, load_balancer_id: LoadBalancerId, authority: str
) -> list[ResizedListener]:
    """Return the listeners of the load balancer whose references change with a flavor that names this
    authority (empty: none). Raises :class:`Invalid` if a reference would be too long.
    """
    page = await services.tenants.list(Listener, ListQuery(filters={"load_balancer_id": (load_balancer_id,)}))
    changed: list[ResizedListener] = []
    for row in page.items:
        sni = tuple(map(reference_for_tenants, row.sni_container_refs))
        default = (
            None if row.default_tls_container_ref is None else reference_for_tenants(row.default_tls_container_ref)
        )
        after = add_authority_to_listener(replace(row, **{DEFAULT: default, SNI: sni}), authority)
        if after != row:
            changed.append(ResizedListener(row, after))
    return changed


def requests_certificates(given: Mapping[str, Any]) -> bool:
    """Whether these attributes of a listener, by name, have references ``acme://…``."""
    return any(is_acme_reference(each) for each in (given.get(DEFAULT) or "", *(given.get(SNI) or ())))


def _acme_references_of(row: Listener) -> dict[str, Any]:
    return {DEFAULT: row.default_tls_container_ref, SNI: row.sni_container_refs}


def _add_authority_to_references(given: Mapping[str, Any], authority: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if given.get(DEFAULT):
        found[DEFAULT] = _add_authority_to_reference(DEFAULT, given[DEFAULT], authority)
    if given.get(SNI):
        found[SNI] = tuple(_add_authority_to_reference(SNI, each, authority) for each in given[SNI])
    return found


def _add_authority_to_reference(field: str, reference: str, authority: str) -> str:
    if reference_for_tenants(reference) != reference:
        raise Invalid(f"Validation failure: {field}: {reference[:REFERENCE_CHARACTERS_MAX]}: should be {RULE}.")
    stored = with_authority(reference, authority)
    if len(stored) > REFERENCE_CHARACTERS_MAX:
        raise Invalid(
            f"Validation failure: {field}: {reference[:REFERENCE_CHARACTERS_MAX]}: should have at most"
            f" {REFERENCE_CHARACTERS_MAX - len(stored) + len(reference)} characters with this flavor."
        )
    return stored
