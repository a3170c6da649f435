"""An authority, a database and a key manager in memory, and controllers that may be killed at each effect."""

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec.structs import replace

from evenkeel.controller.acme import AcmeDependencies, AcmeIssuing, AcmeSettings, ConfiguredAuthority, ConfiguredZone
from evenkeel.core.control.environments import Environment
from evenkeel.core.control.writes import Change
from evenkeel.core.devices.capabilities import Capabilities
from evenkeel.core.kit.errors import AcmeRequestRefused, Conflict, NotFound
from evenkeel.core.kit.ids import LoadBalancerId, ProjectId
from evenkeel.core.tls.acme.caa import CaaRecord, Issuer
from evenkeel.core.tls.acme.progress import AdvancedProgress
from evenkeel.core.tls.acme.values import (
    AcmeCertificate,
    AcmeProgress,
    AcmeStep,
    AcmeTarget,
    AuthorityOrder,
    Authorization,
    AuthorizationStatus,
    ChallengeMethod,
    IssuedChain,
    OrderStatus,
    PlacedChallenges,
    RenewalWindow,
    TxtRecord,
)
from evenkeel.core.tls.acme.zones import ZoneScope, challenge_record
from evenkeel.core.tls.certificates import CertificateBundle, CertificateFacts, PrivateKey, Secret, StoredCertificate

NOW = 1_700_000_000.0
ADDRESS = "192.0.2.1"
LOAD_BALANCER = LoadBalancerId("lb-1")
FACTS: Any = CertificateFacts(
    subject="",
    issuer="",
    common_name=None,
    dns_names=(),
    addresses=(),
    not_before=datetime.fromtimestamp(NOW, UTC),
    not_after=datetime.fromtimestamp(NOW, UTC),
    key_type="ecdsa",
    key_bits=256,
)


class Killed(BaseException):
    """The controller's process ended here."""


class Effects:
    """Counts effects; the controller is killed after the one of that number, or before it if ``before``."""

    def __init__(self) -> None:
        self.done = 0
        self.kill_at = -1
        self.before = False

    def of(self, target: Any, *names: str) -> Any:
        """The target, whose methods of these names are effects."""
        return _Counted(target, self, names)


class _Counted:
    def __init__(self, target: Any, effects: Effects, names: Sequence[str]) -> None:
        self._target, self._effects, self._names = target, effects, names

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._target, name)
        if name not in self._names:
            return method

        async def counted(*args: Any, **named: Any) -> Any:
            effects = self._effects
            effects.done += 1
            if effects.done == effects.kill_at and effects.before:
                raise Killed
            result = await method(*args, **named)
            if effects.done == effects.kill_at:
                raise Killed
            return result

        return counted


class Database:
    """One requested certificate and one load balancer."""

    def __init__(self) -> None:
        self.certificate: AcmeCertificate | None = AcmeCertificate(
            id="c-1",
            project_id=ProjectId("p1"),
            name="www",
            names=("www.example.org",),
            authority="default",
            progress=AcmeProgress(),
            turn=0,
            created_at=NOW,
            next_attempt_at=NOW,
        )
        self.targets_found: tuple[AcmeTarget, ...] = (target(),)
        self.challenges: dict[LoadBalancerId, tuple[str, ...]] = {}
        self.applied = True
        self.told: list[str] = []
        self.open_orders = 0
        self.checked: list[str] = []
        self.due = True
        self.awaited: list[tuple[AcmeStep, str]] = []

    async def take_due_certificates(self, *, limit: int, lease_seconds: float) -> tuple[AcmeCertificate, ...]:
        if self.certificate is None or not self.due:
            return ()
        self.certificate = replace(self.certificate, turn=self.certificate.turn + 1)
        return (self.certificate,)

    async def store_progress(
        self, taken: AcmeCertificate, result: AdvancedProgress, *, lease_seconds: float
    ) -> AcmeCertificate | None:
        if self.certificate is None or self.certificate.turn != taken.turn:
            return None
        self.told += [result.told[0]] if result.told else []
        self.certificate = replace(self.certificate, progress=result.progress)
        return self.certificate

    async def store_dns_records(self, taken: AcmeCertificate, records: Sequence[TxtRecord]) -> bool:
        now = self.certificate
        if now is None or (now.turn, now.records) != (taken.turn, taken.records):
            return False
        self.certificate = replace(now, records=tuple(records))
        return True

    async def find_with_unneeded_records(self, *, limit: int, rest_seconds: float) -> tuple[AcmeCertificate, ...]:
        now = self.certificate
        return () if now is None or not now.records or now.progress.order_url else (now,)

    async def request_removal_of_unused(self, unused_seconds: float) -> int:
        return 0

    async def set_awaiting_problem(self, certificate: AcmeCertificate, *, awaited_seconds: float) -> None:
        self.awaited.append((certificate.progress.step, certificate.progress.problem))

    async def remove_request(self, certificate: AcmeCertificate) -> None:
        self.certificate = None

    async def reserve_order(self, certificate: AcmeCertificate, *, orders_max: int, lease_seconds: float) -> bool:
        return self.open_orders < orders_max

    async def find_challenge_targets(self, project_id: ProjectId, addresses: Sequence[str]) -> tuple[AcmeTarget, ...]:
        return tuple(one for one in self.targets_found if set(one.addresses) & set(addresses))

    async def replace_challenges(
        self, certificate: AcmeCertificate, wanted: Mapping[LoadBalancerId, Sequence[Authorization]]
    ) -> tuple[tuple[PlacedChallenges, ...], tuple[Change, ...]]:
        tokens = {id_: tuple(one.token for one in each) for id_, each in wanted.items()}
        changed = tokens != self.challenges
        self.challenges = tokens
        change = Change(load_balancer_id=LOAD_BALANCER, revision=2, environment="e", owner=None, placed=True)
        placed = tuple(PlacedChallenges(load_balancer_id=id_, applied=self.applied) for id_ in wanted)
        return placed, (change,) if changed else ()

    async def environments(self) -> list[Environment]:
        return [Environment(name="e", device_driver="haproxy"), Environment(name="f5", device_driver="bigip")]

    async def make_certificate_due(self, project_id: str, reference: str, kind: Any) -> None:
        self.checked.append(reference)


def target(**changes: Any) -> AcmeTarget:
    usual: dict[str, Any] = {
        "load_balancer_id": LOAD_BALANCER,
        "environment": "e",
        "addresses": (ADDRESS,),
        "port_id": "port",
        "has_http_listener": True,
        "port_taken": True,
        "admin_state_up": True,
        "placed": True,
        "mirrored": False,
    }
    return AcmeTarget(**{**usual, **changes})


class Authority:
    """Validates by a look at the load balancer's challenges, and issues certificates that name their key."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.texts: dict[str, set[str]] = {}
        """TXT records that it finds in the DNS, by name."""
        self.orders: list[AuthorityOrder] = []
        self.accounts: set[bytes] = set()
        self.failure: Exception | None = None
        self.download_failure: Exception | None = None
        self.order_failure: Exception | None = None
        self.attempts: list[tuple[str, ...]] = []
        """Names of the orders that were requested."""
        self.asks_for = "www.example.org"
        self.window: RenewalWindow | None = None
        self.window_failure: Exception | None = None
        self.replaced: list[str] = []
        self.revoked: list[int] = []
        self.revocation_failure: Exception | None = None

    async def issuer(self, account: PrivateKey) -> Issuer:
        self._use(account)
        return Issuer(identities=("ca.example",), account_url="https://ca.example/account/1")

    async def renewal_window(self, account: PrivateKey, certificate_id: str) -> RenewalWindow | None:
        self._use(account)
        if self.window_failure is not None:
            raise self.window_failure
        return self.window

    async def revoke(self, account: PrivateKey, certificate: str, reason: int) -> None:
        self._use(account)
        if self.revocation_failure is not None:
            raise self.revocation_failure
        self.revoked.append(reason)

    async def order(self, account: PrivateKey, names: Sequence[str], *, replaces: str = "") -> AuthorityOrder:
        self._use(account)
        self.attempts.append(tuple(names))
        if self.order_failure is not None:
            raise self.order_failure
        self.replaced.append(replaces)
        number = len(self.orders)
        wanted = names if self.asks_for in names else (self.asks_for,)
        authorizations = tuple(
            Authorization(
                name=name,
                status=AuthorizationStatus.PENDING,
                challenge_url=f"https://ca.example/challenge/{number}",
                token=f"token-{number}{'-' * place}",
                key_authorization=f"token-{number}{'-' * place}.print",
                unanswered=True,
            )
            for place, name in enumerate(wanted)
        )
        url = f"https://ca.example/order/{number}"
        self.orders.append(
            AuthorityOrder(
                url=url, status=OrderStatus.PENDING, finalize_url="f", certificate_url="", authorizations=authorizations
            )
        )
        return self.orders[-1]

    async def read(self, account: PrivateKey, url: str, *, dns_names: Collection[str] = ()) -> AuthorityOrder:
        self._use(account)
        order = self.orders[self._number(url)]
        methods = {True: ChallengeMethod.DNS_01, False: ChallengeMethod.HTTP_01}
        found = tuple(replace(one, method=methods[one.name in dns_names]) for one in order.authorizations)
        return replace(order, authorizations=found)

    async def answer(self, account: PrivateKey, authorization: Authorization) -> None:
        self._use(account)
        number = int(authorization.challenge_url.rpartition("/")[2])
        served = any(authorization.token in tokens for tokens in self._database.challenges.values())
        if authorization.method is ChallengeMethod.DNS_01:
            record = challenge_record(authorization, "")
            served = record.value in self.texts.get(record.name, ())
        is_valid = served and (self._database.applied or authorization.method is ChallengeMethod.DNS_01)
        status = AuthorizationStatus.VALID if is_valid else AuthorizationStatus.INVALID
        done = replace(authorization, status=status, unanswered=False, problem="" if served else "404 of www")
        all_ = tuple(done if one.name == done.name else one for one in self.orders[number].authorizations)
        statuses = {one.status for one in all_}
        result = OrderStatus.READY if statuses == {AuthorizationStatus.VALID} else OrderStatus.PENDING
        failed = AuthorizationStatus.INVALID in statuses or not served
        self._change(number, authorizations=all_, status=OrderStatus.INVALID if failed else result)

    async def finalize(self, account: PrivateKey, order: AuthorityOrder, key: PrivateKey, names: Sequence[str]) -> None:
        self._use(account)
        self._change(self._number(order.url), status=OrderStatus.VALID, certificate_url=f"of {key.reveal()!r}")

    async def download(
        self, account: PrivateKey, order: AuthorityOrder, key: PrivateKey, names: Sequence[str]
    ) -> IssuedChain:
        self._use(account)
        if self.download_failure is not None:
            raise self.download_failure
        if order.certificate_url != f"of {key.reveal()!r}":
            raise AcmeRequestRefused("of another key")
        start = datetime.fromtimestamp(NOW, UTC)
        return IssuedChain(
            chain=b"chain ", not_before=start, not_after=start + timedelta(days=90), certificate_id="aki.1"
        )

    def refuse(self, problem: str) -> None:
        """The validation of the first order has failed."""
        one = self.orders[0].authorizations[0]
        failed = replace(one, status=AuthorizationStatus.INVALID, unanswered=False, problem=problem)
        self._change(0, authorizations=(failed,), status=OrderStatus.INVALID)

    def _use(self, account: PrivateKey) -> None:
        if self.failure is not None:
            raise self.failure
        self.accounts.add(account.reveal())

    def _number(self, url: str) -> int:
        return int(url.rpartition("/")[2])

    def _change(self, number: int, **changes: Any) -> None:
        self.orders[number] = replace(self.orders[number], **changes)


class Zone:
    """A zone's server whose name servers are those that the authority asks."""

    def __init__(self, texts: dict[str, set[str]]) -> None:
        self.texts = texts
        self.failure: Exception | None = None
        self.removal_failure: Exception | None = None
        self.late = ""
        self.changes = 0

    async def check(self, names: Sequence[str] = ()) -> None:
        if self.failure is not None:
            raise self.failure

    async def add(self, records: Sequence[TxtRecord]) -> None:
        await self.check()
        self.changes += 1
        for one in records:
            self.texts.setdefault(one.name, set()).add(one.value)

    async def remove(self, records: Sequence[TxtRecord]) -> None:
        if self.removal_failure is not None:
            raise self.removal_failure
        await self.check()
        self.changes += 1
        for one in records:
            self.texts.get(one.name, set()).discard(one.value)

    async def missing_record_reason(self, records: Sequence[TxtRecord]) -> str:
        return self.late


class KeyManager:
    """Certificates by project and name."""

    def __init__(self) -> None:
        self.contents: dict[tuple[str, str], bytes] = {}
        self.made = 0

    async def add(self, new: Any, *, replace: bool) -> StoredCertificate:
        place = (new.project_id, new.name)
        if place in self.contents and not replace:
            raise Conflict("it is there")
        self.contents[place] = new.content.reveal()
        return self._kept(*place)

    async def show(self, project_id: str, name: str) -> StoredCertificate:
        if (project_id, name) not in self.contents:
            raise NotFound("Certificate", name)
        return self._kept(project_id, name)

    async def delete(self, project_id: str, name: str) -> None:
        if self.contents.pop((project_id, name), None) is None:
            raise NotFound("Certificate", name)

    async def certificate(self, reference: str, project_id: str) -> CertificateBundle:
        content = self.contents[project_id, reference.rpartition("/")[2]]
        return CertificateBundle(
            certificate="", intermediates=(), private_key=PrivateKey(content), facts=FACTS, sha256=""
        )

    async def self_signed(self, names: Sequence[str], *, days: int) -> Secret:
        self.made += 1
        return Secret(f"key {self.made}".encode())

    def _kept(self, project_id: str, name: str) -> StoredCertificate:
        return StoredCertificate(
            reference=f"directory://{project_id}/{name}",
            project_id=ProjectId(project_id),
            name=name,
            kind="certificate",  # type: ignore[arg-type]
            facts=None,
            sha256="",
            changed_at=datetime.fromtimestamp(NOW, UTC),
        )


class Resolver:
    """Addresses by name."""

    def __init__(self) -> None:
        self.found: dict[str, tuple[str, ...]] = {"www.example.org": (ADDRESS,)}
        self.failure: Exception | None = None
        self.authorizations: dict[str, tuple[CaaRecord, ...]] = {}

    async def caa(self, name: str) -> tuple[CaaRecord, ...]:
        return self.authorizations.get(name, ())

    async def addresses(self, name: str) -> tuple[str, ...]:
        if self.failure is not None:
            raise self.failure
        return self.found.get(name, ())


class FloatingIps:
    """A network service that has floating IPs of projects."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, dict[str, Any]]] = []
        """Project and floating IP, as Neutron shows it."""

    def add(self, address: str, *, project: str = "p1", fixed: str | None = ADDRESS, port: str | None = "port") -> None:
        row = {"floating_ip_address": address, "fixed_ip_address": fixed, "port_id": port}
        self.rows.append((project, row))

    async def look_up(
        self, kind: str, filters: Mapping[str, Sequence[str]], *, project_id: str | None
    ) -> tuple[Mapping[str, Any], ...]:
        assert kind == "floatingips"
        wanted = filters["floating_ip_address"]
        return tuple(
            row for project, row in self.rows if project == project_id and row["floating_ip_address"] in wanted
        )


class Driver:
    """Takes note of what is announced."""

    def __init__(self) -> None:
        self.accepts: list[Change] = []

    async def change_accepted(self, change: Change) -> None:
        self.accepts.append(change)


class World:
    """All of them, and controllers."""

    def __init__(self) -> None:
        self.database = Database()
        self.authority = Authority(self.database)
        self.zone = Zone(self.authority.texts)
        self.zones: tuple[ZoneScope, ...] = ()
        """Zones at that server."""
        self.clock = NOW
        self.settings = AcmeSettings()
        self.keys = KeyManager()
        self.resolver = Resolver()
        self.driver = Driver()
        self.network = FloatingIps()
        self.effects = Effects()

    def controller(self) -> AcmeIssuing:
        """A controller that has just started."""
        effects = self.effects
        keys = effects.of(self.keys, "add", "delete", "self_signed")
        database: Any = effects.of(
            self.database,
            "take_due_certificates",
            "store_progress",
            "replace_challenges",
            "remove_request",
            "make_certificate_due",
            "store_dns_records",
        )
        zone: Any = effects.of(self.zone, "add", "remove")
        authority: Any = effects.of(self.authority, "order", "read", "answer", "finalize", "download", "revoke")
        parts = AcmeDependencies(
            authorities={"default": ConfiguredAuthority("https://ca.example/directory", authority)},
            resolver=self.resolver,
            maker=keys,
            certificates=keys,
            key_manager=keys,
            capabilities={"haproxy": Capabilities(http_challenges=True), "bigip": Capabilities()},
            settings=self.settings,
            zones=[ConfiguredZone(scope, zone) for scope in self.zones],
        )
        driver: Any = effects.of(self.driver, "change_accepted")
        network: Any = self.network
        return AcmeIssuing(
            database, database, database, driver, parts, lambda low, _high: low, network=network, now=lambda: self.clock
        )

    @property
    def progress(self) -> AcmeProgress:
        assert self.database.certificate is not None
        return self.database.certificate.progress

    @property
    def stored(self) -> bytes | None:
        """What the key manager has under the requested name."""
        return self.keys.contents.get(("p1", "www"))
