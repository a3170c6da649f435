"""Certificates of a load balancer that an authority does not issue, and listeners that wait for them."""

from collections.abc import Iterable, Mapping

from evenkeel.api.common.services import Services
from evenkeel.api.operators.references import (
    LoadBalancerCertificateProblem,
    missing_certificate_request_problem,
    unissued_certificate_problem,
)
from evenkeel.core.resources.model import LoadBalancer, LoadBalancerTree
from evenkeel.core.resources.statuses import ProvisioningStatus
from evenkeel.core.tls.acme.references import is_acme_reference, references_for_request_name
from evenkeel.core.tls.acme.values import AcmeCertificate
from evenkeel.core.tls.certificate_references import references_of
from evenkeel.core.tls.certificates import ReferencedCertificate, ReferenceQuery

NAMED_OF_ONE_MAX = 100
"""Most certificates of one load balancer that are counted."""


async def used_references(services: Services, root: LoadBalancer) -> tuple[ReferencedCertificate, ...]:
    """Return the references of the load balancer's listeners and pools, those that expire first at the front,
    at most :data:`NAMED_OF_ONE_MAX`.
    """
    query = ReferenceQuery(load_balancer_id=root.id)
    return tuple(await services.operators.references(query, limit=NAMED_OF_ONE_MAX))


async def find_unissued_certificate_problem(
    services: Services, root: LoadBalancer, references: Iterable[ReferencedCertificate]
) -> LoadBalancerCertificateProblem:
    """Describe a certificate of the load balancer that its authority does not issue: first one that listeners
    wait for. ``references``: the load balancer's. An empty problem if there is none.
    """
    used = {each.reference: each for each in references}
    if not used:
        return LoadBalancerCertificateProblem()
    requests = await _unissued_requests(services, root)
    awaited = {each.reference for each in used.values() if not each.sha256}
    for reference, request in sorted(requests.items(), key=lambda item: item[1].reference not in awaited):
        is_awaited = request.reference in awaited
        if is_awaited or (
            request.progress.problem and used.keys() & {reference, *references_for_request_name(request.reference)}
        ):
            return unissued_certificate_problem(request, reference, awaited=is_awaited)
    return missing_certificate_request_problem(used[min(awaited)]) if awaited else LoadBalancerCertificateProblem()


async def reason_for_waiting_listeners(services: Services, tree: LoadBalancerTree) -> str:
    """Return why listeners of the load balancer wait for a certificate; empty if none does."""
    waits = any(
        row.provisioning_status is not ProvisioningStatus.ACTIVE
        and any(is_acme_reference(each.reference) for each in references_of(row))
        for row in tree.listeners
    )
    if not waits:
        return ""
    root = tree.load_balancer
    return (await find_unissued_certificate_problem(services, root, await used_references(services, root))).text


async def _unissued_requests(services: Services, root: LoadBalancer) -> Mapping[str, AcmeCertificate]:
    """Return the requested certificates of the load balancer's project that have a problem or were never
    issued, by reference; empty without a certificate store.
    """
    if services.certificates is None:
        return {}
    requested = await services.acme_store.list_requested_certificates(root.project_id)
    reference = services.certificates.reference
    return {reference(each.project_id, each.name): each for each in requested if _is_unissued(each)}


def _is_unissued(request: AcmeCertificate) -> bool:
    return bool(request.progress.problem) or request.progress.not_after is None
