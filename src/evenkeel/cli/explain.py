"""The command ``evenkeel explain``: the reason why a load balancer waits, and remedies for operators."""

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from typing import Any

from evenkeel.cli.base import ShowCommand, print_problems, warn_about_halted_environments
from evenkeel.cli.columns import Columns, object_table, object_title
from evenkeel.cli.load_balancers import add_load_balancer_argument, load_balancer_path
from evenkeel.core.control.explanation import NOTHING, explain_state


class ExplainLoadBalancer(ShowCommand):
    """Explain the state of a load balancer: what it waits for and what to do. Exit code 1: something is to be done."""

    supports_watch = True

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_load_balancer_argument(parser)

    def take_action(self, parsed_args: Namespace) -> tuple[Columns, tuple[Any, ...]]:
        path = load_balancer_path(self.client, parsed_args.loadbalancer)
        hosting = self.client.get(f"{path}/agent")["hosting"]
        warn_about_halted_environments(self, [hosting])
        explained = explain_state(hosting)
        shard, acting, home = (hosting[key] or {} for key in ("shard", "acting", "home"))
        if explained.action != NOTHING:
            title = object_title(hosting.get("name", ""), hosting["load_balancer_id"])
            print_problems(
                self,
                [f"load balancer {title}: {explained.state}"],
            )
        return object_table(
            {
                "name": hosting.get("name", ""),
                "load_balancer_id": hosting["load_balancer_id"],
                "state": explained.state,
                "what to do": explained.action,
                "provisioning_status": hosting.get("provisioning_status", ""),
                "operating_status": hosting["operating_status"],
                "desired_revision": hosting["revision"],
                "applied_revision": hosting["applied_revision"],
                "reason": hosting["status_reason"] or hosting["operating_reason"],
                "environment": hosting["environment"],
                "group_number": shard.get("group_number", ""),
                "owner": _agent_text(acting),
                "epoch": shard.get("epoch", ""),
                "home": _agent_text(home),
                "waiting_in_agent": acting.get("queue_depth", ""),
                "ahead": hosting["ahead"],
                "next_try": _next_try_text(hosting),
                "moving": hosting.get("moving", ""),
            }
        )


def _agent_text(agent: Mapping[str, Any]) -> str:
    if not agent:
        return ""
    return f"{agent['host']} ({'alive' if agent['alive'] else 'not alive'})"


def _next_try_text(hosting: Mapping[str, Any]) -> str:
    """Return when the agent tries again to apply a change that failed; empty if nothing failed, the load
    balancer is held, or no live agent serves it.
    """
    acting = hosting["acting"]
    if not hosting["status_reason"] or hosting.get("held") or not acting or not acting["alive"]:
        return ""
    return f"automatically, within {hosting['retry_seconds_max']} s"
