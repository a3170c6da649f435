"""Problems of the system as operators see them, and problems of the message broker and the database, on which
everything else depends: with one of these, agents cannot renew their sessions, so their silence proves nothing about
their hosts.
"""

from collections.abc import Iterator, Sequence
from typing import Literal

from evenkeel.core.kit.values import Value
from evenkeel.core.kit.words import count_with_noun
from evenkeel.core.tls.own_certificates import OwnCertificate

CERTIFICATES_NAMED_MAX = 10
WRITABLE = "writable"
"""Text for a database that accepts writes."""


class ProblemObject(Value):
    """An object that a problem is about."""

    kind: Literal[
        "agent",
        "certificates",
        "controllers",
        "devices",
        "device_group",
        "environment",
        "load_balancer",
        "load_balancers",
        "shards",
    ]
    id: str
    """Id or name of the object; of several load balancers or certificates the query that finds them."""
    name: str


class ProblemCommand(Value):
    """A command that helps against a problem, to be copied into a shell."""

    command: str
    host: str = ""
    """Host on which to run the command; empty: wherever ``evenkeel`` runs."""
    condition: str = ""
    """Condition under which to run the command, such as ``if the host is lost``; empty: in any case."""


class SystemProblem(Value):
    """One problem in the system status that operators read. ``kind``: stable, machine-readable name; ``text`` and
    ``remedy``: human-readable.
    """

    kind: str
    text: str
    remedy: str
    objects: tuple[ProblemObject, ...] = ()
    """Some of the objects that the problem is about."""
    commands: tuple[ProblemCommand, ...] = ()
    """Commands of the remedy, each by itself; the first ones should be tried first."""


_CONTROLLERS = ProblemObject("controllers", "", "controllers")
_DEVICES = ProblemObject("devices", "", "devices")


def outage_problems(broker: str, database: str) -> Iterator[SystemProblem]:
    """Yield a problem for each outage. ``broker``: why the broker accepts no messages; ``database``: why the
    database accepts no writes; empty: there is no such outage.
    """
    if broker:
        yield SystemProblem(
            kind="message_broker",
            text=f"the message broker takes no messages: {broker}",
            remedy="repair the broker (on its host: rabbitmq-diagnostics alarms, rabbitmqctl status); devices go on,"
            " and accepted requests wait in the database",
            objects=(_CONTROLLERS,),
            commands=(ProblemCommand("rabbitmq-diagnostics alarms", "the broker's host"),),
        )
    if database:
        yield SystemProblem(
            kind="database_writes",
            text=f"the database takes no writes: {database}",
            remedy="connect the controllers to the primary (database.connection), promote this server, or free disk"
            " space there; devices go on, and changes are refused meanwhile",
            objects=(_CONTROLLERS,),
        )


def own_certificate_problems(certificates: Sequence[OwnCertificate], now_seconds: float) -> Iterator[SystemProblem]:
    """Yield a problem for each of at most :data:`CERTIFICATES_NAMED_MAX` own server certificates, and one for
    the rest. ``certificates``: those that expire soon; ``now_seconds``: seconds since the epoch.
    """
    for one in certificates[:CERTIFICATES_NAMED_MAX]:
        days = one.reached_expiry_stage(now_seconds)
        yield SystemProblem(
            kind="own_certificates",
            text=one.text(0 if days is None else days),
            remedy="renew it there; servers of this project take a new file within a minute, without a restart",
            objects=(_DEVICES if one.is_of_device else _CONTROLLERS,),
        )
    left = len(certificates) - CERTIFICATES_NAMED_MAX
    if left > 0:
        text = count_with_noun(left, "more certificate expires", "more certificates expire")
        yield SystemProblem("own_certificates", text, "renew the named certificates first")


def database_state_text(problem: str) -> str:
    """Return ``writable``, or the reason why writes are refused."""
    return problem or WRITABLE
