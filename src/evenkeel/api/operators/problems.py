"""Problems of the system as operators see them, and problems of the message broker and the database, on which
everything else depends: with one of these, agents cannot renew their sessions, so their silence proves nothing about
their hosts.
"""

from collections.abc import Iterator, Sequence

from evenkeel.core.kit.values import Value
from evenkeel.core.tls.own_certificates import OwnCertificate

CERTIFICATES_NAMED_MAX = 10
WRITABLE = "writable"
"""Text for a database that accepts writes."""


class SystemProblem(Value):
    """One problem in the system status that operators read. ``kind``: stable, machine-readable name; ``text`` and
    ``remedy``: human-readable.
    """

    kind: str
    text: str
    remedy: str


def outages(broker: str, database: str) -> Iterator[SystemProblem]:
    """Yield the outages. ``broker``: why it accepts no messages; ``database``: why it accepts no writes; empty: they
    do.
    """
    if broker:
        yield SystemProblem(
            kind="message_broker",
            text=f"the message broker takes no messages: {broker}",
            remedy="mend the broker (on its host: rabbitmq-diagnostics alarms, rabbitmqctl status); devices go on, and"
            " accepted requests wait in the database",
        )
    if database:
        yield SystemProblem(
            kind="database_writes",
            text=f"the database takes no writes: {database}",
            remedy="connect the controllers to the primary (database.connection), promote this server, or free disk"
            " space there; devices go on, and changes are refused meanwhile",
        )


def own_certificate_problems(certificates: Sequence[OwnCertificate], now_seconds: float) -> Iterator[SystemProblem]:
    """Yield problems with the product's own certificates. ``certificates``: the ones that expire soon."""
    for one in certificates[:CERTIFICATES_NAMED_MAX]:
        days = one.days_left_stage(now_seconds)
        yield SystemProblem(
            kind="own_certificates",
            text=one.text(0 if days is None else days),
            remedy="renew it there; servers of this project take a new file within a minute, without a restart",
        )
    left = len(certificates) - CERTIFICATES_NAMED_MAX
    if left > 0:
        yield SystemProblem(
            "own_certificates", f"{left} more certificates expire", "renew the named certificates first"
        )


def writable_view(problem: str) -> str:
    """Return ``writable``, or the reason why writes are refused."""
    return problem or WRITABLE
