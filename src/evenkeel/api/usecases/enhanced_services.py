"""Enhanced services in requests: names in tags, flavors and L7 policies, checked against the services that agents
offer.

Only new names are checked: an object keeps a name that is no longer offered, and its load balancer's status reason
explains why it stays unchanged.
"""

from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Any

import structlog

from evenkeel.api.common.services import Services
from evenkeel.core.devices.capabilities import Capabilities, raise_first_problem
from evenkeel.core.kit.errors import Invalid
from evenkeel.core.resources.catalogue import parse_profile_data
from evenkeel.core.resources.enhanced_services import (
    FLAVOR_KEY,
    PARAMETER_FORM,
    PER_LISTENER_MAX,
    TAG_PREFIX,
    EnhancedService,
    ParameterTag,
    bare_tags,
    parameter_tags,
    services_in_tags,
)
from evenkeel.core.resources.model import L7Policy, LoadBalancerTree

log = structlog.get_logger(__name__)

UNKNOWN = "enhanced_service_unknown"
"""Code of the error for an unknown enhanced service."""
WRONG_PARAMETER = "enhanced_service_parameter"
"""Code of the error for a parameter of an enhanced service that is not allowed."""
NONE: Mapping[str, EnhancedService] = MappingProxyType({})
_NAMES_LISTED_MAX = 20


class OfferedServices:
    """Enhanced services that agents of one provider offer, and checks of requested names against them."""

    __slots__ = ("_bare", "_offered", "names", "provider", "table")

    def __init__(
        self, provider: str, table: Capabilities, offered: Mapping[str, EnhancedService] = NONE, *, bare: bool = False
    ) -> None:
        """Initialize the checks. ``offered``: services by name. ``bare``: whether listeners' tags without prefix choose
        enhanced services.
        """
        self._bare = bare
        self._offered = offered
        self.provider = provider
        self.table = table
        self.names = frozenset(offered)

    def check_tags(self, after: Iterable[str], before: Iterable[str] = ()) -> None:
        """Check tags that ``before`` lacks and that name an enhanced service or set its parameters. Raises
        :class:`Unsupported` where the device type has none, :class:`Invalid` for an unknown name or
        parameter, a number beyond its bounds, or a parameter set twice.
        """
        after, stored = tuple(after), frozenset(before)
        known = set(services_in_tags(stored))
        self._check_names("tags", [name for name in services_in_tags(after) if name not in known], TAG_PREFIX)
        set_already: dict[tuple[str, str], str] = {}
        for one in parameter_tags(after):
            if one.tag not in stored:
                self._check_parameter(one)
            other = set_already.setdefault((one.service, one.parameter), one.tag)
            if other != one.tag:
                raise _wrong_parameter(f"'{other}' and '{one.tag}': both set {one.parameter}. Allowed: one of them.")

    def log_bare_tags(self, listener_id: str, tags: Iterable[str]) -> None:
        """Log a listener's tags that would choose an enhanced service if they had the prefix; without it they
        have no effect. Logs nothing if tags without prefix choose enhanced services.
        """
        if self._bare:
            return
        for tag in bare_tags(tags):
            if tag in self.names:
                advice = f"tag {TAG_PREFIX}{tag}, or the option bare_esd_tags"
                log.warning(
                    "tag without effect: an enhanced service has this name",
                    listener_id=listener_id,
                    tag=tag,
                    advice=advice,
                )

    def check_flavor(self, names: Iterable[str]) -> None:
        """Check the names of enhanced services that a flavor gives. Raises :class:`Invalid` for one that is
        not offered, :class:`Unsupported` if the device type has no enhanced services.
        """
        self._check_names(FLAVOR_KEY, names, "")

    def check_tree(self, tree: LoadBalancerTree) -> None:
        """Check all names of enhanced services in a new load balancer's tags and flavor, and log tags without
        effect. Raises :class:`Invalid` or :class:`Unsupported`.
        """
        self.check_tags(tree.load_balancer.tags)
        for listener in tree.listeners:
            self.check_tags(listener.tags)
            self.log_bare_tags(listener.id, listener.tags)
        self.check_flavor(tree.load_balancer.flavor_enhanced_services)

    def _check_parameter(self, one: ParameterTag) -> None:
        service = self._offered.get(one.service)
        if service is None:
            return  # kept from before, when it was offered
        if not one.parameter:
            raise _wrong_parameter(f"'{one.tag}': another form. Allowed: {PARAMETER_FORM}.")
        parameter = service.parameters.get(one.parameter)
        if parameter is None:
            allowed = ", ".join(sorted(service.parameters)) or "none"
            raise _wrong_parameter(
                f"'{one.tag}': enhanced service '{one.service}' has no parameter '{one.parameter}'. Allowed: {allowed}."
            )
        if one.value is None:
            bounds = f"{parameter.minimum} to {parameter.maximum}"
            raise _wrong_parameter(f"'{one.tag}': no whole number. Allowed: {bounds}.")
        if problem := parameter.problem(one.value):
            raise _wrong_parameter(f"'{one.tag}': {one.parameter} {problem}.")

    def _check_names(self, field: str, names: Iterable[str], prefix: str) -> None:
        for name in names:
            if not self.table.offers_services:
                raise_first_problem(
                    self.provider, [f"{field} '{prefix}{name}'. Allowed: none that name an enhanced service."]
                )
            if name not in self.names:
                raise Invalid(
                    f"Validation failure: {field} '{prefix}{name}': provider '{self.provider}' has no enhanced service"
                    f" of that name. Allowed: {_name_list(self.names, prefix)}.",
                    code=UNKNOWN,
                )


async def offered_services(services: Services, provider: str, table: Capabilities) -> OfferedServices:
    """Read the enhanced services that agents of the provider offer; no query for device types without enhanced
    services.
    """
    if not table.offers_services:
        return OfferedServices(provider, table)
    offered = await services.providers.enhanced_services_of(provider)
    return OfferedServices(provider, table, offered, bare=services.bare_esd_tags)


def _wrong_parameter(text: str) -> Invalid:
    return Invalid(f"Validation failure: tags {text}", code=WRONG_PARAMETER)


def flavor_names(text: str) -> tuple[str, ...]:
    """Return the names of enhanced services in a flavor's data, a JSON text; empty if it has none. Raises
    :class:`Invalid` unless the text is a JSON object, and the names are a list of at most
    :data:`PER_LISTENER_MAX` different texts.
    """
    given = parse_profile_data("flavor_data", text).get(FLAVOR_KEY, [])
    if (
        not isinstance(given, list)
        or not all(isinstance(name, str) for name in given)
        or len(given) > PER_LISTENER_MAX
        or len(set(given)) != len(given)
    ):
        raise Invalid(
            f"{given} is not a valid option for flavor_data: {FLAVOR_KEY} should be a list of different names of"
            f" enhanced services, at most {PER_LISTENER_MAX}."
        )
    return tuple(given)


def check_rename(policy: L7Policy, changes: Mapping[str, Any], offered: Collection[str]) -> None:
    """Check that a rename does not turn an L7 policy into one that stands for an enhanced service, or back: that is
    decided when it is created. Raises :class:`Invalid`.
    """
    name = changes.get("name", policy.name)
    if name == policy.name or policy.enhanced_service == (name in offered):
        return
    if policy.enhanced_service:
        raise Invalid(
            f"Validation failure: name {name}: this L7 policy stands for the enhanced service {policy.name}."
            f" Allowed: {_name_list(offered, '')}."
        )
    raise Invalid(
        f"Validation failure: name {name}: an enhanced service has this name. Allowed: any other; a new L7 policy"
        " of this name chooses the enhanced service."
    )


def rules_refused_error(policy_name: str) -> Invalid:
    """Build the error for L7 rules in a policy that stands for an enhanced service, and so can have none."""
    return Invalid(
        f"Validation failure: rules: an L7 policy named {policy_name} stands for the enhanced service of that name."
        " Allowed: none."
    )


def _name_list(names: Collection[str], prefix: str) -> str:
    first = sorted(names)[:_NAMES_LISTED_MAX]
    more = f" and {len(names) - len(first)} more" if len(names) > len(first) else ""
    return (", ".join(f"{prefix}{name}" for name in first) or "none") + more
