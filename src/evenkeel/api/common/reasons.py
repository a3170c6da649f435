"""Reasons that tenants read: why an object is not ACTIVE, in the words of devices and agents.

Operators read reasons in full. A device's refusal may quote another project's load balancer or partition, so
in a tenant's text ids, folders and partitions that may be another project's are replaced. URLs, and ids
behind kinds of objects that a reason names only if the load balancer refers to them, are kept.
"""

import re

from evenkeel.core.resources.model import LoadBalancer
from evenkeel.core.resources.statuses import ProvisioningStatus

_ID = r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}|(?<![0-9a-fA-F])[0-9a-fA-F]{32}(?![0-9a-fA-F])"
_OWN_KINDS = "member|health monitor|L7 policy|L7 rule|subnets?|networks?|port|certificate|secret"
"""Kinds of objects whose ids a reason contains only if the load balancer refers to them, so that they need no
replacement.
"""
# Own kinds come first, so that the ids behind them are kept. The quantifiers are possessive, so that no text of a
# device makes the match backtrack.
_REFERENCE_PATTERN = re.compile(
    rf"(?P<own>\b(?:{_OWN_KINDS}) (?:{_ID})(?:, (?:{_ID}))*)"
    r"|(?P<url>https?://\S+)"
    r"|/(?P<folder>[\w.-]++)(?:/[\w.:%~-]++)+"
    r"|\bpartition (?P<partition>[\w.-]++)"
    rf"|(?P<kind>\bload balancer )?(?P<id>{_ID})"
)


def provisioning_reason(status: ProvisioningStatus, root: LoadBalancer) -> str | None:
    """Return the tenant's text of why an object's load balancer is not ACTIVE; None if there is no reason yet, or the
    object is ACTIVE and not held.
    """
    return None if full_provisioning_reason(status, root) is None else tenant_reason(root)


def full_provisioning_reason(status: ProvisioningStatus, root: LoadBalancer) -> str | None:
    """Return the operator's text of why a load balancer is not ACTIVE, with all names; None if there is no reason yet,
    or the object is ACTIVE and not held.
    """
    return None if status is ProvisioningStatus.ACTIVE and not root.held else root.status_reason or None


def tenant_reason(root: LoadBalancer) -> str:
    """Return the load balancer's reason without references to objects that may be another project's. A folder
    or partition is kept, with the names in it, if its name ends with the project's id, or has neither an
    underscore nor an id in it.
    """
    own = {root.id, root.project_id, *root.listener_ids, *root.pool_ids}

    def replace_if_foreign(found: re.Match[str]) -> str:
        if folder := found["folder"]:
            is_own, other = _is_word_shown_to_project(folder, root.project_id), "another tenant's object"
        elif partition := found["partition"]:
            name = partition.rstrip(".")  # the end of a sentence
            is_own, other = (
                _is_word_shown_to_project(name, root.project_id),
                f"another partition{partition[len(name) :]}",
            )
        elif id_ := found["id"]:
            is_own, other = id_ in own, "another load balancer" if found["kind"] else "another object"
        else:
            return found[0]
        return found[0] if is_own else other

    return _REFERENCE_PATTERN.sub(replace_if_foreign, root.status_reason)


def _is_word_shown_to_project(folder: str, project_id: str) -> bool:
    """Whether a word may be shown to the project: it is the project's partition, ``<prefix>_<project id>``, or no
    partition's name at all.
    """
    return folder.endswith(f"_{project_id}") or not ("_" in folder or re.search(_ID, folder))
