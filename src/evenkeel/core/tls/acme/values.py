"""Values of certificates by ACME: requests and their progress, orders at the authority, and load balancers
for challenges.
"""

from datetime import datetime
from enum import StrEnum

from evenkeel.core.kit.ids import LoadBalancerId, ProjectId
from evenkeel.core.kit.values import Value

ACME_PROJECT = ProjectId("_evenkeel-acme")
"""Project of the key manager with account keys and keys of orders under way. Keystone's projects have ids in
hexadecimal, and no API accepts this one.
"""


class AcmeState(StrEnum):
    """State of a requested certificate, as operators and tenants see it."""

    WAITING = "waiting"
    """No order is open: the request is new, a name cannot be proven, or a service did not answer; the problem states
    the reason, if there is one.
    """
    ORDERING = "ordering"
    ISSUED = "issued"
    """The key manager has the issued certificate, which is renewed in time."""
    FAILED = "failed"
    """The authority refused the last order; another attempt follows."""


class AcmeStep(StrEnum):
    """Next step of a controller for a requested certificate."""

    CHECK = "check"
    """Check that all names can be proven, and make an order."""
    PLACE = "place"
    """Put the challenges on load balancers and into DNS zones, until devices and name servers have them."""
    ANSWER = "answer"
    """Request that the authority validates the challenges."""
    COLLECT = "collect"
    """Finalize the order when the order is ready, and store the certificate."""
    RENEWAL = "renewal"
    """Read at intervals when the authority suggests the renewal (RFC 9773), until that time has come."""
    REVOKE = "revoke"
    """Revoke the issued certificate, and order another one."""
    REMOVE = "remove"
    """Remove the challenges, and then the request itself, which was deleted."""


ORDERED_STEPS = (AcmeStep.PLACE, AcmeStep.ANSWER, AcmeStep.COLLECT)
"""Steps with an order at the authority."""


class AcmeProgress(Value):
    """Progress of one requested certificate: its next step, its state, and the order and certificate so far."""

    step: AcmeStep = AcmeStep.CHECK
    state: AcmeState = AcmeState.WAITING
    problem: str = ""
    """Reason why the certificate waits, or text of the last failure (human-readable); empty if there is none."""
    order_url: str = ""
    """URL of the order at the authority; empty if none is open. A request that is being removed keeps that of its
    last open order.
    """
    order_until: float = 0.0
    """Time at which the order is given up, in seconds since the epoch."""
    waits: int = 0
    """Number of fruitless attempts at this step in a row."""
    failures: int = 0
    """Number of failed orders in a row."""
    not_after: float | None = None
    """End of the issued certificate, in seconds since the epoch; None: none was issued yet."""
    certificate_id: str = ""
    """Identifier of the issued certificate for the authority's renewal information; empty: the authority has no renewal
    information.
    """
    renew_at: float = 0.0
    """Time of the renewal, in seconds since the epoch: within the window that the authority suggests, else after two
    thirds of the lifetime; 0: none is known.
    """
    revocation: str = ""
    """Name of the reason with which the issued certificate is to be revoked; empty: no revocation is requested."""


class TxtRecord(Value):
    """A TXT record in a DNS zone, by which a name is proven to an authority (dns-01)."""

    zone: str
    """Name of the DNS zone."""
    name: str
    """Full name of the record, without a dot at the end."""
    value: str


class AcmeCertificate(Value):
    """A certificate that was requested by its DNS names, as stored, with its progress. ``created_at``:
    seconds since the epoch.
    """

    id: str
    project_id: ProjectId
    name: str
    """Name in the project's folder of the key manager."""
    names: tuple[str, ...]
    """DNS names of the certificate."""
    authority: str
    """Name of the authority from which the certificate is requested, also for renewals."""
    progress: AcmeProgress
    turn: int
    """Number that grows whenever a controller takes the certificate: results of an earlier turn are not stored."""
    created_at: float
    next_attempt_at: float
    """Time of the next step, in seconds since the epoch."""
    reference: str = ""
    """Reference ``acme://…`` of listeners that made the request, without parameters: the request is removed when no
    listener has the reference any more. Empty: the API made the request, and removes it.
    """
    records: tuple[TxtRecord, ...] = ()
    """TXT records that may be in DNS zones: stored before they are added to the zones, and until they are removed from
    the zones.
    """


class NewAcmeCertificate(Value):
    """A checked request for a certificate by its DNS names. ``name``: name in the project's folder of the key
    manager; ``names``: the DNS names; ``authority``: name of the certificate authority.
    """

    id: str
    project_id: ProjectId
    name: str
    names: tuple[str, ...]
    authority: str
    per_project_max: int
    """Limit of requested certificates of the project."""
    reference: str = ""
    """Reference ``acme://…`` that makes the request, without parameters; empty: none does."""


class AuthorizationStatus(StrEnum):
    """Status of the authority's validation of one name: PENDING, VALID, or INVALID for all other statuses of
    RFC 8555, 7.1.6.
    """

    PENDING = "pending"
    VALID = "valid"
    INVALID = "invalid"


class OrderStatus(StrEnum):
    """Status of an order (RFC 8555, 7.1.6)."""

    PENDING = "pending"
    READY = "ready"
    PROCESSING = "processing"
    VALID = "valid"
    INVALID = "invalid"


class ChallengeMethod(StrEnum):
    """Method by which a DNS name is proven to an authority, with the names of RFC 8555."""

    HTTP_01 = "http-01"
    """Proof by a response of the project's load balancers, to which the name leads."""
    DNS_01 = "dns-01"
    """Proof by a TXT record in a DNS zone whose names belong to the project."""


class Authorization(Value):
    """The authority's validation of one name of an order, with the challenge that proves it. ``problem``: why
    the validation failed; empty: it did not.
    """

    name: str
    """Name as ordered, also a wildcard."""
    status: AuthorizationStatus
    challenge_url: str
    """URL of the challenge of this method."""
    token: str
    key_authorization: str
    """Content that the name's web server has to return for the token by http-01; public."""
    unanswered: bool
    """True: the authority waits for the message that the challenge is in place."""
    problem: str = ""
    method: ChallengeMethod = ChallengeMethod.HTTP_01


class AuthorityOrder(Value):
    """An order for a certificate at the authority. ``finalize_url``: URL to which the certificate request is
    sent; ``problem``: why the order failed, empty: it did not.
    """

    url: str
    status: OrderStatus
    finalize_url: str
    certificate_url: str
    """URL of the certificate; empty until the status is VALID."""
    authorizations: tuple[Authorization, ...]
    problem: str = ""
    retry_after_seconds: float = 0.0
    """Delay in seconds that the authority requests before the next read; 0: none."""


class IssuedChain(Value):
    """A certificate that the authority has issued, with intermediates; checked to belong to the key and the
    names of its order.
    """

    chain: bytes
    """Certificate and intermediates in PEM."""
    not_before: datetime
    not_after: datetime
    certificate_id: str = ""
    """Identifier for renewal information (RFC 9773, 4.1); empty: the certificate has none."""


class RenewalWindow(Value):
    """The authority's suggestion when to renew a certificate (RFC 9773, 4.2). Times in seconds since the epoch."""

    start: float
    end: float
    retry_after_seconds: float
    """Delay in seconds until the suggestion should be read again."""


REVOCATION_REASONS = {
    "unspecified": 0,
    "keyCompromise": 1,
    "affiliationChanged": 3,
    "superseded": 4,
    "cessationOfOperation": 5,
}
"""Codes of the reasons for which a certificate may be revoked (RFC 5280, 5.3.1), by name."""


class AcmeTarget(Value):
    """A load balancer of the requested certificate's project, with the facts that decide whether it can answer HTTP
    challenges.
    """

    load_balancer_id: LoadBalancerId
    environment: str
    addresses: tuple[str, ...]
    """Addresses of all VIPs in canonical form."""
    port_id: str
    """The VIPs' port at the network service."""
    has_http_listener: bool
    """Whether an enabled listener of protocol HTTP has port 80."""
    port_taken: bool
    """Whether any listener over TCP has port 80."""
    admin_state_up: bool
    placed: bool
    mirrored: bool
    """True: the load balancer mirrors another system's, which alone changes it."""


class PlacedChallenges(Value):
    """State of the challenges of one certificate on one load balancer."""

    load_balancer_id: LoadBalancerId
    applied: bool
    """True: the devices of the load balancer have the challenges."""
    reason: str = ""
    """Reason why the load balancer is not ACTIVE (human-readable); empty if it is."""
