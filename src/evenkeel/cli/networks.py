"""``evenkeel network …``: networks of the built-in network service, to which devices may be attached."""

from argparse import ArgumentParser, BooleanOptionalAction, Namespace
from typing import Any

from evenkeel.cli.base import ApiCommand, ListCommand, ShowCommand, is_id
from evenkeel.cli.client import API_PATH, ApiRefused, Client, quote_segment
from evenkeel.cli.columns import Columns, list_table, object_table

LIST_COLUMNS = ("name", "id", "network_type", "physical_network", "segmentation_id", "mtu", "project_id", "shared")
NARROW_TITLES = {"name": "name", "id": "id", "network_type": "type", "segmentation_id": "segment", "mtu": "mtu"}
CHANGEABLE_ATTRIBUTES = ("name", "physical_network", "segmentation_id", "mtu", "shared", "external", "vteps")


class ListNetworks(ListCommand):
    """List the declared networks."""

    narrow_titles = NARROW_TITLES

    def take_action(self, parsed_args: Namespace) -> Any:
        return list_table(LIST_COLUMNS, self.client.get(f"{API_PATH}/networks")["networks"])


class ShowNetwork(ShowCommand):
    """Show a declared network."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        _add_network_argument(parser)

    def take_action(self, parsed_args: Namespace) -> tuple[Columns, tuple[Any, ...]]:
        return object_table(
            self.client.get(f"{API_PATH}/networks/{find_network_id(self.client, parsed_args.network)}")["network"]
        )


class CreateNetwork(ShowCommand):
    """``evenkeel network create``: declares a network of the built-in network service."""

    operator_action = "network_create"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", metavar="NAME", help="Name, unique.")
        parser.add_argument("--type", dest="network_type", required=True, choices=("vlan", "vxlan", "gre", "flat"))
        parser.add_argument("--id", help="Its id; default: a new one.")
        parser.add_argument("--project", dest="project_id", help="The only project that uses it.")
        _add_attribute_options(parser)

    def take_action(self, parsed_args: Namespace) -> tuple[Columns, tuple[Any, ...]]:
        body = {
            "network_type": parsed_args.network_type,
            **_given_values(parsed_args, "id", "project_id", *CHANGEABLE_ATTRIBUTES),
        }
        return object_table(self.client.post(f"{API_PATH}/networks", {"network": body})["network"])


class SetNetwork(ShowCommand):
    """``evenkeel network set``: changes the given attributes of a declared network."""

    operator_action = "network_update"

    def add_arguments(self, parser: ArgumentParser) -> None:
        _add_network_argument(parser)
        parser.add_argument("--name", help="Name, unique.")
        _add_attribute_options(parser)

    def take_action(self, parsed_args: Namespace) -> tuple[Columns, tuple[Any, ...]]:
        path = f"{API_PATH}/networks/{find_network_id(self.client, parsed_args.network)}"
        return object_table(
            self.client.put(path, {"network": _given_values(parsed_args, *CHANGEABLE_ATTRIBUTES)})["network"]
        )


class DeleteNetwork(ApiCommand):
    """``evenkeel network delete``: deletes a declared network to which no device is attached."""

    operator_action = "network_delete"

    def add_arguments(self, parser: ArgumentParser) -> None:
        _add_network_argument(parser)

    def take_action(self, parsed_args: Namespace) -> None:
        self.client.delete(f"{API_PATH}/networks/{find_network_id(self.client, parsed_args.network)}")


def _add_network_argument(parser: ArgumentParser) -> None:
    parser.add_argument("network", metavar="NETWORK", help="Id or name.")


def _add_attribute_options(parser: ArgumentParser) -> None:
    parser.add_argument("--segment", dest="segmentation_id", type=int, help="VLAN id, VNI or GRE key.")
    parser.add_argument("--physical-network", help="Of flat and vlan networks, as in the agents' mappings.")
    parser.add_argument("--mtu", type=int, help="Bytes; default: the device's.")
    parser.add_argument("--vtep", dest="vteps", action="append", help="Tunnel end point of a host; several times.")
    parser.add_argument("--shared", action=BooleanOptionalAction, help="Used by several projects at the same time.")
    parser.add_argument("--external", action=BooleanOptionalAction, help="An external network.")


def _given_values(parsed_args: Namespace, *names: str) -> dict[str, Any]:
    return {name: getattr(parsed_args, name) for name in names if getattr(parsed_args, name) is not None}


def find_network_id(client: Client, name: str) -> str:
    """Return the id of the network with this id or name, quoted for a path; an id is returned unchecked.
    Raises :class:`ApiRefused` for an unknown name.
    """
    if is_id(name):
        return quote_segment(name)
    for row in client.get(f"{API_PATH}/networks")["networks"]:
        # Operators may choose ids that are no UUIDs.
        if name in (row["name"], row["id"]):
            return quote_segment(str(row["id"]))
    raise ApiRefused(404, f"no network has the id or name {name!r}")
