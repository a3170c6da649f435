"""``evenkeel loadbalancer tree``: everything below a load balancer, with statuses."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from typing import Any

from evenkeel.cli.base import ListCommand
from evenkeel.cli.columns import list_table
from evenkeel.cli.load_balancers import add_load_balancer_argument, load_balancer_path

TREE_COLUMNS = ("object", "name", "id", "provisioning_status", "operating_status")
NARROW_TITLES = {
    "object": "object",
    "id": "id",
    "provisioning_status": "provisioning",
    "operating_status": "operating",
}
INDENT = "  "

TreeNode = Mapping[str, Any]


class ShowTree(ListCommand):
    """Show everything below a load balancer, with statuses; each pool once, including pools that no listener uses."""

    narrow_titles = NARROW_TITLES
    short_id_columns = frozenset({"id"})

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_load_balancer_argument(parser)

    def take_action(self, parsed_args: Namespace) -> Any:
        path = load_balancer_path(self.client, parsed_args.loadbalancer)
        tree = self.client.get(f"{path}/tree")["tree"]
        if tree["status_reason"]:
            self.app.stderr.write(f"{tree['status_reason']}\n")
        shown = list(tree_rows(tree))
        if parsed_args.formatter == "table" and not (parsed_args.long or parsed_args.columns):
            shown = [{**row, "object": f"{row['object']} {row['name']}".rstrip()} for row in shown]
        return list_table(TREE_COLUMNS, shown)


def tree_rows(tree: TreeNode) -> Iterator[dict[str, str]]:
    """Yield a row of the table, by column, for each object of a load balancer, indented below its parent."""
    yield _node_row(0, "load balancer", tree)
    for listener in tree["listeners"]:
        yield _node_row(1, "listener", listener)
        for policy in listener["l7policies"]:
            yield _node_row(2, "L7 policy", policy)
            for rule in policy["rules"]:
                yield _node_row(3, "L7 rule", rule)
        # controllers of earlier versions show neither
        for name in listener.get("enhanced_services", ()):
            yield {**dict.fromkeys(TREE_COLUMNS, ""), "object": f"{2 * INDENT}enhanced service", "name": name}
        for policy in listener.get("rate_limit_policies", ()):
            yield _node_row(2, "rate limit policy", policy)
            for rule in policy["rate_limit_rules"]:
                yield _node_row(3, "rate limit rule", rule)
    for pool in tree["pools"]:
        yield _node_row(1, "pool", pool)
        for member in pool["members"]:
            yield _node_row(2, "member", member)
        if pool["health_monitor"]:
            yield _node_row(2, "health monitor", pool["health_monitor"])


def _rate_limit_text(node: TreeNode) -> str:
    """Return the amount that a rate limit rule allows, and its interval, as text; empty for other objects."""
    return f"{node['threshold']} {node['metric']} in {node['interval']} s" if "metric" in node else ""


def _node_row(depth: int, kind: str, node: TreeNode) -> dict[str, str]:
    address = f"{node['address']}:{node['protocol_port']}" if "address" in node else ""
    return {
        "object": INDENT * depth + kind,
        "name": " ".join(filter(None, (node.get("name") or node.get("type", ""), address, _rate_limit_text(node)))),
        "id": node["id"],
        "provisioning_status": node["provisioning_status"],
        "operating_status": node["operating_status"],
    }
