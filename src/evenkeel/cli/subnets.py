"""``evenkeel subnet …``: the address pools of the built-in network."""

from argparse import ArgumentParser, Namespace
from typing import Any

from evenkeel.cli.base import ApiCommand, ListCommand, ShowCommand, is_id
from evenkeel.cli.client import API_PATH, ApiRefused, Client, quote_segment
from evenkeel.cli.columns import Columns, list_table, object_table

LIST_COLUMNS = ("name", "id", "cidr", "gateway_ip", "allocation_start", "allocation_end", "project_id")
NARROW_TITLES = {"name": "name", "id": "id", "cidr": "cidr"}
OPTIONAL_COLUMNS = (
    "network_id",
    "gateway_ip",
    "allocation_start",
    "allocation_end",
    "project_id",
    "reserved",
    "device_addresses",
)


class ListSubnets(ListCommand):
    """List the address pools of VIPs."""

    narrow_titles = NARROW_TITLES

    def take_action(self, parsed_args: Namespace) -> Any:
        return list_table(LIST_COLUMNS, self.client.get(f"{API_PATH}/subnets")["subnets"])


class CreateSubnet(ShowCommand):
    """``evenkeel subnet create``: creates an address pool, from which VIPs are allocated."""

    operator_action = "subnet_create"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", metavar="NAME", help="Name, unique.")
        parser.add_argument("--cidr", required=True, help="The network, such as 10.1.0.0/24.")
        parser.add_argument("--network-id", help="Network it belongs to; default: a new one.")
        parser.add_argument("--gateway-ip", help="The gateway; never a VIP.")
        parser.add_argument("--allocation-start", help="First address for VIPs; default: the first usable one.")
        parser.add_argument("--allocation-end", help="Last address for VIPs; default: the last usable one.")
        parser.add_argument(
            "--reserve",
            dest="reserved",
            action="append",
            metavar="ADDRESS[-ADDRESS]",
            help="An address or a range that is never a VIP; may be given several times.",
        )
        _add_device_addresses_option(parser, required=False)
        parser.add_argument("--project", dest="project_id", help="Only for this project; default: for all.")

    def take_action(self, parsed_args: Namespace) -> tuple[Columns, tuple[Any, ...]]:
        given = {
            name: getattr(parsed_args, name) for name in OPTIONAL_COLUMNS if getattr(parsed_args, name) is not None
        }
        body = {"name": parsed_args.name, "cidr": parsed_args.cidr, **given}
        return object_table(self.client.post(f"{API_PATH}/subnets", {"subnet": body})["subnet"])


class SetSubnet(ShowCommand):
    """``evenkeel subnet set``: sets the addresses that devices may have in an address pool."""

    operator_action = "subnet_update"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("subnet", metavar="SUBNET", help="Id or name.")
        _add_device_addresses_option(parser, required=True)

    def take_action(self, parsed_args: Namespace) -> tuple[Columns, tuple[Any, ...]]:
        path = f"{API_PATH}/subnets/{quote_segment(find_subnet_id(self.client, parsed_args.subnet))}"
        body = {"subnet": {"device_addresses": parsed_args.device_addresses}}
        return object_table(self.client.put(path, body)["subnet"])


def _add_device_addresses_option(parser: ArgumentParser, *, required: bool) -> None:
    parser.add_argument(
        "--device-addresses",
        action="append",
        metavar="ADDRESS[-ADDRESS]",
        required=required,
        help="Addresses for devices that are attached to the network: self IPs, SNAT; may be given several times.",
    )


class DeleteSubnet(ApiCommand):
    """``evenkeel subnet delete``: deletes an address pool that no load balancer uses."""

    operator_action = "subnet_delete"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("subnet", metavar="SUBNET", help="Id or name.")

    def take_action(self, parsed_args: Namespace) -> None:
        self.client.delete(f"{API_PATH}/subnets/{quote_segment(find_subnet_id(self.client, parsed_args.subnet))}")


def find_subnet_id(client: Client, name: str) -> str:
    """Return the id of the subnet with this id or name; an id is returned unchecked. Raises
    :class:`ApiRefused` for an unknown name.
    """
    if is_id(name):
        return name
    for row in client.get(f"{API_PATH}/subnets")["subnets"]:
        if row["name"] == name:
            return str(row["id"])
    raise ApiRefused(404, f"no subnet has the id or name {name!r}")
