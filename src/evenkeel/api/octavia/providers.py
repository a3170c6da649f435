"""Providers: the environments in tenants' view, and the capabilities of their device types."""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import asdict

from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call
from evenkeel.api.http.lists import select_fields
from evenkeel.api.responses.answers import Answer, json_answer
from evenkeel.core.devices.capabilities import Capabilities
from evenkeel.core.kit.values import Value
from evenkeel.core.resources.catalogue import ZONE_GROUP
from evenkeel.core.resources.enhanced_services import ServiceParameter

ZONE_GROUP_MEANING = "The number of the provider's device group to which its load balancers go."


class ProviderView(Value):
    """A provider: an environment by its name."""

    name: str
    description: str


class OfferedServiceView(Value):
    """An enhanced service that a provider's agents offer to tenants."""

    name: str
    parts: dict[str, Any]
    """Settings by part; for a part with a page, the size and digest of the page's body; the number of lines of
    ``haproxy_lines``.
    """
    tags: list[str]
    """Names of the tags, in F5's file format, that the service sets."""
    parameters: dict[str, ServiceParameter]
    """Numbers that tenants may set by a tag ``esd:NAME:PARAMETER=NUMBER``, by name."""


class CapabilitiesView(Capabilities, kw_only=True):
    """Capabilities of a provider; a request that needs another capability is refused."""

    provider: str
    device_driver: str
    enhanced_services: bool
    """True if the provider's agents may offer enhanced services."""
    offered_enhanced_services: list[OfferedServiceView]
    """Enhanced services that the provider's agents offer, by name."""


class CapabilityView(Value):
    """A setting that a flavor or availability zone profile may contain."""

    name: str
    description: str


async def list_providers(services: Services, call: Call) -> Answer:
    """Handle GET /providers: list all environments, by name. Raises :class:`InvalidQuery` for an invalid query
    string.
    """
    fields = call.query_values("fields")
    rows = await services.operators.environments()
    shown = [
        select_fields(
            ProviderView(name=row.name, description=row.description or f"{row.device_driver} devices"), fields
        )
        for row in rows
    ]
    return json_answer({"providers": shown, "providers_links": []})


async def list_capabilities(services: Services, call: Call) -> Answer:
    """Handle GET /providers/{id}/capabilities: show the capability table of a provider's device type, and the
    enhanced services that its agents offer. Raises :class:`Invalid` for an unknown provider.
    """
    provider = call.params["id"]
    device_driver = await services.providers.device_driver_of(provider)
    table = services.providers.capabilities_of(device_driver)
    offered = await services.providers.enhanced_services_of(provider) if table.offers_services else {}
    view = CapabilitiesView(
        provider=provider,
        device_driver=device_driver,
        enhanced_services=table.offers_services,
        offered_enhanced_services=[
            OfferedServiceView(
                name=name, parts=one.settings_for_tenants, tags=sorted(one.tags), parameters=one.parameters
            )
            for name, one in offered.items()
        ],
        **asdict(table),
    )
    return json_answer({"capabilities": view})


async def list_flavor_capabilities(services: Services, call: Call) -> Answer:
    """Handle GET /providers/{id}/flavor_capabilities: list the settings that flavor profiles may contain, or
    those with a ``name`` in the query; empty if anything is allowed. Raises :class:`Invalid` for an
    unknown provider, :class:`InvalidQuery` for an invalid query string.
    """
    device_driver = await services.providers.device_driver_of(call.params["id"])
    known = services.providers.capabilities_of(device_driver).flavor_metadata
    return _capabilities_answer(call, "flavor_capabilities", known or {})


async def list_zone_capabilities(services: Services, call: Call) -> Answer:
    """Handle GET /providers/{id}/availability_zone_capabilities: list the settings that availability zone
    profiles may contain (the device group, and the device type's), or those with a ``name`` in the query.
    Raises :class:`Invalid` for an unknown provider, :class:`InvalidQuery` for an invalid query string.
    """
    device_driver = await services.providers.device_driver_of(call.params["id"])
    known = zone_settings(services.providers.capabilities_of(device_driver))
    return _capabilities_answer(call, "availability_zone_capabilities", known)


def zone_settings(table: Capabilities) -> Mapping[str, str]:
    """Return ``{setting: meaning}`` of the settings that availability zones may contain."""
    return {ZONE_GROUP: ZONE_GROUP_MEANING, **(table.availability_zone_metadata or {})}


def _capabilities_answer(call: Call, name: str, known: Mapping[str, str]) -> Answer:
    fields = [value for key, value in call.query if key == "fields" and value]
    wanted = {value for key, value in call.query if key == "name"}
    rows = [CapabilityView(name=each, description=meaning) for each, meaning in known.items()]
    return json_answer({name: [select_fields(row, fields) for row in rows if not wanted or row.name in wanted]})
