"""Imports load balancers of any source: each is checked, and with ``apply`` created. Repeating it goes on."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from evenkeel.cli.client import API, ApiRefused, Client, segment
from evenkeel.cli.moving_in.foreign import ForeignLoadBalancer

REFUSED = "refused"
"""Outcome of a load balancer that cannot be imported."""


class ImportRow(NamedTuple):
    """The outcome of one load balancer."""

    load_balancer: ForeignLoadBalancer
    outcome: str
    """``new``, ``imported``, ``present``, ``differs``, or :data:`REFUSED`."""
    remarks: tuple[str, ...] = ()
    """Differences, or the reason of a refusal."""


def run_import(
    client: Client, found: Iterable[ForeignLoadBalancer], *, environment: str, apply: bool
) -> Iterator[ImportRow]:
    """Check each load balancer, and create it with ``apply``; a refused one does not stop the others.

    Raises :class:`evenkeel.cli.client.Unreachable`: repeating the import goes on where it ended.
    """
    for each in found:
        body = {"apply": apply, "loadbalancer": {**each.body, "provider": environment}}
        try:
            answer = client.put(f"{API}/imports/loadbalancers/{segment(each.id)}", body)["import"]
        except ApiRefused as error:
            yield ImportRow(each, REFUSED, (str(error),))
        else:
            yield ImportRow(each, answer["outcome"], tuple(answer["differences"]))


def lines_of(one: ImportRow) -> Iterator[str]:
    """Lines that show the outcome of one load balancer."""
    name = f" {one.load_balancer.name}" if one.load_balancer.name else ""
    yield f"{one.outcome:<9}{one.load_balancer.id}{name}"
    yield from (f"  {'differs' if one.outcome == 'differs' else 'because'}: {remark}" for remark in one.remarks)
    if one.outcome in ("new", "imported"):
        yield from (f"  not carried over: {text}" for text in one.load_balancer.lost)


def summary(outcomes: Mapping[str, int]) -> str:
    """One line that counts the outcomes."""
    counted = ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items())) or "none"
    return f"{sum(outcomes.values())} load balancers: {counted}"


def as_json(one: ImportRow) -> dict[str, Any]:
    """The outcome of one load balancer for programs."""
    return {
        "id": one.load_balancer.id,
        "name": one.load_balancer.name,
        "project_id": one.load_balancer.project_id,
        "outcome": one.outcome,
        "remarks": list(one.remarks),
        "not_carried_over": list(one.load_balancer.lost),
    }
