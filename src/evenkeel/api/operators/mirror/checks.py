"""Checks before the other system stores an object, a flavor or an availability zone."""

from collections.abc import Mapping
from typing import Any

import msgspec

from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call
from evenkeel.api.octavia.catalogue import check_profile
from evenkeel.api.octavia.providers import CapabilityView, zone_settings
from evenkeel.api.operators.mirror.query import parse_provider
from evenkeel.api.operators.query import query_options
from evenkeel.api.responses.answers import NO_CONTENT, Answer, json_answer
from evenkeel.api.usecases.mirror_checks import check_operation
from evenkeel.api.usecases.mirror_requests import MetadataCheck, MirrorCheck
from evenkeel.core.kit.values import Value
from evenkeel.core.resources.catalogue import AvailabilityZoneProfile, FlavorProfile


class MetadataList(Value):
    """Settings that the metadata of a provider's flavors or availability zones may contain."""

    metadata: list[CapabilityView]


async def check_mirror_operation(services: Services, call: Call, body: MirrorCheck) -> Answer:
    """Handle POST /mirror/check: check that an object can be served, before the other system stores it;
    answers 204. Raises :class:`Invalid` or :class:`Unsupported`, :class:`InvalidQuery` for unknown query
    parameters.
    """
    query_options(call, ())
    await check_operation(services, body)
    return NO_CONTENT


async def check_flavor(services: Services, call: Call, body: MetadataCheck) -> Answer:
    """Handle POST /mirror/check-flavor: check the metadata of a flavor; answers 204. Raises :class:`Invalid`
    or :class:`Unsupported`, :class:`InvalidQuery` for unknown query parameters.
    """
    query_options(call, ())
    data = msgspec.json.encode(body.metadata).decode()
    await check_profile(services, FlavorProfile(id="", name="", provider_name=body.provider, flavor_data=data))
    return NO_CONTENT


async def check_zone(services: Services, call: Call, body: MetadataCheck) -> Answer:
    """Handle POST /mirror/check-availability-zone: check the metadata of an availability zone; answers 204.
    Raises :class:`Invalid` or :class:`Unsupported`, :class:`InvalidQuery` for unknown query parameters.
    """
    query_options(call, ())
    data = msgspec.json.encode(body.metadata).decode()
    row = AvailabilityZoneProfile(id="", name="", provider_name=body.provider, availability_zone_data=data)
    await check_profile(services, row)
    return NO_CONTENT


async def flavor_metadata(services: Services, call: Call) -> Answer:
    """Handle GET /mirror/flavor-metadata: list the settings that flavors may contain; empty if anything is
    allowed. Raises :class:`Invalid` for an unknown provider, :class:`InvalidQuery` for unknown query
    parameters.
    """
    provider = parse_provider(query_options(call, ("provider",)))
    table = services.providers.capabilities_of(await services.providers.device_driver_of(provider))
    return _metadata_answer(table.flavor_metadata or {})


async def zone_metadata(services: Services, call: Call) -> Answer:
    """Handle GET /mirror/availability-zone-metadata: list the settings that availability zones may contain.
    Raises :class:`Invalid` for an unknown provider, :class:`InvalidQuery` for unknown query parameters.
    """
    provider = parse_provider(query_options(call, ("provider",)))
    table = services.providers.capabilities_of(await services.providers.device_driver_of(provider))
    return _metadata_answer(zone_settings(table))


def _metadata_answer(known: Mapping[str, str]) -> Answer:
    rows: list[Any] = [CapabilityView(name=name, description=meaning) for name, meaning in known.items()]
    return json_answer(MetadataList(metadata=rows))
