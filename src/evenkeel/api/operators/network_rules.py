"""Rules for declared networks: checks of a request's attributes. Pure."""

from collections.abc import Callable
from typing import Any

from msgspec import UNSET, structs

from evenkeel.api.operators.requests import NetworkChange, NetworkNew
from evenkeel.api.responses.errors import invalid_input
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.networking.addresses import parsed_address
from evenkeel.core.networking.networks import SEGMENTS_MAX, TUNNELS, DeclaredNetwork, NetworkType


def network_from_body(body: NetworkNew, *, new_id: Callable[[], str]) -> DeclaredNetwork:
    """Convert the request to the network to store. Raises :class:`Invalid` naming field and value."""
    id_ = body.id or new_id()
    return validate_network(
        DeclaredNetwork(
            id=id_,
            name=body.name or id_,
            network_type=NetworkType(body.network_type),
            physical_network=body.physical_network,
            segmentation_id=body.segmentation_id,
            mtu=body.mtu,
            project_id=None if body.project_id is None else ProjectId(body.project_id),
            shared=body.shared,
            external=body.external,
            vteps=tuple(body.vteps or ()),
        )
    )


def apply_network_change(network: DeclaredNetwork, body: NetworkChange) -> DeclaredNetwork:
    """Return the network with the changes of the request. Raises :class:`Invalid` naming field and value."""
    given: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in structs.asdict(body).items()
        if value is not UNSET
    }
    return validate_network(structs.replace(network, **given))


def validate_network(network: DeclaredNetwork) -> DeclaredNetwork:
    """Check the network's attributes against its type, and return it with tunnel endpoints in canonical form.
    Raises :class:`Invalid` naming field and value.
    """
    type_ = network.network_type
    if type_ in TUNNELS and network.physical_network is not None:
        raise invalid_input("physical_network", network.physical_network, f"A {type_} network has none.")
    if type_ not in TUNNELS and network.physical_network is None:
        raise invalid_input("physical_network", "null", f"A {type_} network needs one.")
    if type_ not in TUNNELS and network.vteps:
        raise invalid_input("vteps", ", ".join(network.vteps), f"A {type_} network has none.")
    highest = SEGMENTS_MAX.get(type_)
    segment = network.segmentation_id
    if highest is None and segment is not None:
        raise invalid_input("segmentation_id", segment, f"A {type_} network has none.")
    if highest is not None and (segment is None or not 1 <= segment <= highest):
        shown = "null" if segment is None else segment
        raise invalid_input("segmentation_id", shown, f"Value should be between 1 and {highest} for {type_}.")
    return structs.replace(network, vteps=tuple(_parse_address(text) for text in network.vteps))


def _parse_address(text: str) -> str:
    try:
        return str(parsed_address(text))
    except ValueError as error:
        raise invalid_input("vteps", text, "Value should be an IPv4 or IPv6 address.") from error
