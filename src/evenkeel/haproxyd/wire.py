"""The daemon's API, for agents' device drivers: JSON over HTTPS with HTTP basic authentication.

======  ==================================  ========================  ==========================
method  path                                request                   answer
======  ==================================  ========================  ==========================
GET     /v1                                                           :class:`About`
GET     /v1/partitions                                                :class:`PartitionList`
GET     /v1/partitions/{name}                                         :class:`PartitionConfig`
POST    /v1/partitions/{name}/guard         :class:`GuardState`       :class:`GuardState`
PUT     /v1/partitions/{name}               :class:`PartitionChange`  :class:`Receipt`
PATCH   /v1/partitions/{name}               :class:`PartitionChange`  :class:`Receipt`
GET     /v1/observation?within=SECONDS                                :class:`DaemonObservation`
GET     /v1/events?after=N&wait=SECONDS                               :class:`DaemonEvents`
GET     /v1/journal?after=N                                           :class:`Journal`
======  ==================================  ========================  ==========================

PUT names everything the partition is to hold; PATCH only the load balancers it changes. Both are accepted only from
the owner that holds the guard: with its epoch and session, moved since the daemon last started (``state_id``).
They are refused with ``stale_owner`` if a newer owner holds the guard, and with ``not_guarded`` if no newer owner does
but the sender does not either: it then moves the guard and sends a PUT. Every error is a
:class:`DaemonRefusal`.

``within`` (default 0) is the age that the status of a partition may have in an observation if it had neither an event
nor a change since.

Lines are HAProxy configuration as in its manual, without indentation; the driver that renders them quotes words where
needed. The daemon refuses lines with control characters, and names that do not match :data:`NAME_REGEX`. Lines refer
to files by their bare name.
"""

from typing import Literal

from evenkeel.core.kit.values import Wire

NAME_REGEX = r"^[A-Za-z0-9][A-Za-z0-9_.:-]{0,126}$"
"""Pattern for names of partitions, load balancers, frontends, backends, servers and files."""

NOTE_CHARS_MAX = 65_536

PEERS_SECTION = "evenkeel"
"""Name of the peers section, which every configuration has, for stick tables."""

ApplyMethod = Literal["nothing", "runtime", "reload"]
"""How a change was applied: not at all, by runtime API commands, or by a reload (a new worker)."""


# -- configuration ----------


class Bind(Wire):
    """An address and port on which a frontend listens."""

    address: str
    port: int


class LogTarget(Wire):
    """A syslog server that gets a frontend's access log (RFC 5424, over TCP a line each).

    Only requests whose log level a line of the frontend sets to ``emerg`` are logged, in the frontend's ``log-format``.
    """

    address: str
    port: int
    protocol: Literal["udp", "tcp"] = "udp"


class Frontend(Wire):
    """One listener that HAProxy serves. ``maxconn`` None: no limit of its own. ``bind_arguments`` are appended to every
    ``bind``.

    ``metrics``: the frontend has no backend, but answers requests for ``/metrics`` with its load balancer's metrics
    (Prometheus).
    """

    name: str
    binds: tuple[Bind, ...]
    bind_arguments: tuple[str, ...] = ()
    maxconn: int | None = None
    lines: tuple[str, ...] = ()
    metrics: bool = False
    access_log: LogTarget | None = None


class BackendServer(Wire):
    """One member. A name always means the same address: a server with a changed address has another name.

    ``weight``: 0 to 256; ``admin_up`` False: in maintenance. ``arguments``: the rest of the ``server`` line,
    from checks to cookies, word by word. ``ping_address``: the target of :class:`Ping`, if it differs from
    the traffic's.
    """

    name: str
    address: str
    port: int
    weight: int = 1
    admin_up: bool = True
    backup: bool = False
    arguments: tuple[str, ...] = ()
    ping_address: str | None = None
    ping_port: int | None = None
    """Port of :class:`Ping` over UDP or SCTP, if it differs from the traffic's."""


class Ping(Wire):
    """The daemon checks the servers of a backend itself, by ICMP echo, a datagram, or SCTP's INIT. ``delay``
    and ``timeout`` in seconds; no answer is waited for longer than 10 s. ``rise``, ``fall``: consecutive
    results.

    ``protocol`` ``udp``: an empty datagram; the server is down if it or its host is reported as unreachable,
    or it has just refused a client's datagram, else up. ``sctp``: an INIT; the server is up only if it
    accepts the association.
    """

    delay: int
    timeout: int
    rise: int
    fall: int
    protocol: Literal["icmp", "udp", "sctp"] = "icmp"


DatagramProtocol = Literal["udp", "sctp", "tcp"]
"""Protocols that the kernel forwards. TCP connections are counted and forwarded as flows, but those to a
removed server continue until a deadline.
"""


class DatagramBalance(Wire):
    """How the kernel distributes new flows to a backend's servers; HAProxy only checks these servers.

    ``choice``: at random by weight, or by a hash of the client's address, or of address and port. ``sticky_seconds``:
    time without packets after which a client may get another server; 0: clients are not bound to servers.
    ``sticky_netmask``: clients that are equal under the mask are bound together; empty: each by itself.
    """

    protocol: DatagramProtocol = "udp"
    choice: Literal["weight", "source", "source_port"] = "weight"
    sticky_seconds: int = 0
    sticky_netmask: str = ""


class Backend(Wire):
    """One pool. ``ping``: checks that the daemon makes itself; None: none. ``dynamic``: servers can be added
    and removed at runtime (a dynamic balancing algorithm, and no argument that servers added later would
    lack). ``datagrams``: the kernel sends the servers datagrams; None: it does not. ``drain_seconds``:
    time after which the connections of a server that is removed, or no longer ``admin_up``, end; 0: they
    end by themselves.

    HAProxy does not load a backend to which no line of a listener leads; its servers are reported as not
    checked.
    """

    name: str
    lines: tuple[str, ...] = ()
    servers: tuple[BackendServer, ...] = ()
    ping: Ping | None = None
    dynamic: bool = True
    datagrams: DatagramBalance | None = None
    drain_seconds: int = 0


class DatagramListener(Wire):
    """One listener whose flows the kernel forwards (nftables), beside HAProxy.

    ``backend``: name of a backend with ``datagrams``; empty: every client is refused. ``flows_max`` None: no limit of
    concurrent flows. ``allowed_cidrs``: networks of the clients that are accepted; none: all clients.
    """

    name: str
    binds: tuple[Bind, ...]
    protocol: DatagramProtocol = "udp"
    backend: str = ""
    flows_max: int | None = None
    allowed_cidrs: tuple[str, ...] = ()


class File(Wire):
    """A file that lines refer to. Certificates contain private keys, which are never logged and never in a response.

    ``kind``: a ``page`` is sent to clients as it is; no other file may be. A ``map`` has a key and a value in each
    line, and is the only kind that map converters may read.
    ``sha256``: the identity of the content, opaque to the daemon; empty for content that is always sent. Empty
    ``content`` of a certificate: the content held for the same load balancer, name and ``sha256``. If it is not held,
    the load balancer is left unchanged, and its outcome names what is lacking.
    """

    name: str
    kind: Literal["acl", "map", "certificate", "crt_list", "ca", "crl", "page"]
    content: str
    sha256: str = ""

    def __repr__(self) -> str:
        return f"File(name={self.name!r}, kind={self.kind!r}, content=<{len(self.content)}>, sha256={self.sha256!r})"


class LoadBalancerConfig(Wire):
    """One load balancer at one revision. Names are unique in the partition.

    ``note``: opaque to the daemon, which returns it to the driver in every observation (:attr:`PartitionStatus.notes`).
    At most :data:`NOTE_CHARS_MAX` characters.
    """

    id: str
    revision: int
    frontends: tuple[Frontend, ...] = ()
    backends: tuple[Backend, ...] = ()
    files: tuple[File, ...] = ()
    note: str = ""
    datagram_listeners: tuple[DatagramListener, ...] = ()

    @property
    def listeners(self) -> tuple[Frontend | DatagramListener, ...]:
        """Return all listeners: HAProxy's and the kernel's."""
        return (*self.frontends, *self.datagram_listeners)


class HaproxyPeer(Wire):
    """Another HAProxy that holds the same partition and shares its stick tables.

    ``certificate``: verifies the peer, PEM; not secret. Peers use TLS and trust only each other's certificates.
    """

    name: str
    address: str
    port: int
    certificate: str = ""


class PartitionChange(Wire):
    """A request to change the content of a partition, from the owner with ``epoch`` and ``session_id``.

    ``state_id``: from the response to the request that moved the guard. ``load_balancers``: to be added or
    replaced. ``removed``: ids of load balancers to remove; PATCH only. ``peers`` None: unchanged.
    """

    epoch: int
    session_id: str = ""
    state_id: str = ""
    load_balancers: tuple[LoadBalancerConfig, ...] = ()
    removed: tuple[str, ...] = ()
    peers: tuple[HaproxyPeer, ...] | None = None


class LoadBalancerOutcome(Wire):
    """The result for one load balancer. With an ``error``, the partition still holds the previous state of
    this load balancer.

    ``revision``: as in the request; 0 for a removed load balancer. ``lacking``: :attr:`File.sha256` of files
    that were sent without their content and are not held.
    """

    load_balancer_id: str
    revision: int
    error: str = ""
    lacking: tuple[str, ...] = ()


class Receipt(Wire):
    """Response to a change that is on disk and in the running process, except where an outcome has an error.

    A receipt has one outcome per load balancer named in the request, including removed ones. ``peer``: this
    HAProxy's own entry for its peers' configuration; None if there is no address, port or key for peers.
    ``peers``: the partition's peers now. ``repaired``: manual changes and removed files that were repaired
    since the last receipt, by load balancer id, for operators.
    """

    outcomes: tuple[LoadBalancerOutcome, ...]
    how: ApplyMethod
    peer: HaproxyPeer | None = None
    peers: tuple[HaproxyPeer, ...] = ()
    repaired: dict[str, tuple[str, ...]] = {}


class GuardState(Wire):
    """Owner of a partition, by epoch and session: in requests the owner that is wanted, in responses the one
    that is recorded.

    ``owner``: environment and device group; all partitions with one prefix belong to one owner. ``state_id``:
    in responses, see :attr:`About.state_id`. ``empty``: in responses, whether the partition holds no load
    balancer and no change waits, so that its owner need not read it.
    """

    epoch: int
    session_id: str = ""
    owner: str = ""
    state_id: str = ""
    empty: bool = False


# -- state ----------


class About(Wire):
    """Identity, versions and state of the daemon and its HAProxy.

    ``problem``: the reason, for operators, why no HAProxy can be started or reloaded; empty if there is none. ``note``:
    settings that are less secure than possible, and restrictions of this HAProxy.
    """

    name: str
    daemon_version: str
    haproxy_version: str
    problem: str = ""
    installation_id: str = ""
    """Id created with the state directory: distinguishes this daemon from all others, at any address."""
    state_id: str = ""
    """Id of the daemon's state, which changes whenever the state may differ from what agents last sent.

    The id changes at each start, because the state directory may be an older copy, and when the directory was removed
    while the daemon runs."""
    owners: dict[str, str] = {}
    """``{prefix: owner}`` of the partitions; a prefix is the part of their names before the last ``_``."""
    note: str = ""
    datagrams: str = ""
    """Reason why load balancers with listeners for datagrams are refused on this host; empty if they are accepted."""
    sctp: str = ""
    """Reason why load balancers with SCTP listeners are refused although UDP is accepted; empty if they are accepted
    too.
    """


class PartitionSummary(Wire):
    """One partition (a tenant's HAProxy with its load balancers) in a list: ``epoch`` of its newest owner, -1
    if it never had one, and its number of load balancers.
    """

    name: str
    epoch: int
    load_balancers: int
    problem: str = ""
    """Reason, for operators, why the partition's HAProxy does not run as configured."""


class PartitionList(Wire):
    """All partitions, sorted by name."""

    partitions: tuple[PartitionSummary, ...]


class PartitionConfig(Wire):
    """The accepted configuration of one partition: owner with epoch and session, load balancers, this
    HAProxy's own peer entry (None: it has none) and the partition's peers. ``problem``: reason, for
    operators, why HAProxy does not run as configured.
    """

    name: str
    epoch: int
    session_id: str = ""
    owner: str = ""
    load_balancers: tuple[LoadBalancerConfig, ...] = ()
    """The accepted load balancers; the contents of certificate files are empty."""
    peer: HaproxyPeer | None = None
    peers: tuple[HaproxyPeer, ...] = ()
    problem: str = ""


class ServerStatus(Wire):
    """Status of one server. ``checked``: False if the server is not checked; ``up`` then only means "not in
    maintenance". ``admin_up``: False in maintenance.
    """

    name: str
    up: bool
    checked: bool
    admin_up: bool
    weight: int
    active_connections: int = 0


class BackendStatus(Wire):
    """Status of one pool and its servers; a server that HAProxy does not have (yet) is left out."""

    name: str
    load_balancer_id: str
    servers: tuple[ServerStatus, ...] = ()


class FrontendStatus(Wire):
    """Status of one listener: whether it listens, active connections, and totals of bytes, connections and
    HTTP request errors since it was created, across reloads and restarts.
    """

    name: str
    load_balancer_id: str
    listening: bool
    bytes_in: int = 0
    bytes_out: int = 0
    active_connections: int = 0
    total_connections: int = 0
    request_errors: int = 0


class PartitionStatus(Wire):
    """Health of one partition.

    If HAProxy does not run although load balancers are held, there is a ``problem``, and frontends and
    backends are those of load balancers that the kernel serves alone; with any such, ``haproxy_down`` is
    True.
    """

    name: str
    load_balancer_ids: tuple[str, ...] = ()
    frontends: tuple[FrontendStatus, ...] = ()
    backends: tuple[BackendStatus, ...] = ()
    problem: str = ""
    haproxy_down: bool = False
    notes: dict[str, str] = {}
    """:attr:`LoadBalancerConfig.note` of load balancers that have one, by id; also while HAProxy does not run."""
    digests: dict[str, str] = {}
    """Digests of the held load balancers, by id. Equal for equal :class:`LoadBalancerConfig` on any daemon."""


class DaemonObservation(Wire):
    """Status of all partitions. ``event``: number of the newest event included; ``state_id``: see
    :attr:`About.state_id`.
    """

    event: int
    state_id: str = ""
    partitions: tuple[PartitionStatus, ...] = ()


class DaemonEvent(Wire):
    """A server's health changed, or, with an empty ``server``, something else happened to the partition, such
    as its HAProxy going down, coming up or being repaired. ``up``: the state afterwards, True if the event
    is about no state; ``text``: description for operators.
    """

    number: int
    time: float
    """Seconds since the epoch, by this host's clock."""
    partition: str
    backend: str = ""
    server: str = ""
    up: bool = True
    text: str = ""


class DaemonEvents(Wire):
    """Events with a higher number than the requested one, oldest first, at most 1,000; empty when ``wait``
    seconds passed without one. ``newest``: the number with which the next request continues.

    ``missed``: some events in between are no longer available, so the client has to read the whole
    observation.
    """

    newest: int
    events: tuple[DaemonEvent, ...] = ()
    missed: bool = False


class JournalEntry(Wire):
    """One write attempt of an agent, accepted or refused: a takeover or a change. ``time``: seconds since the
    epoch, by this host's clock; ``agent``: name in the agent's credentials; ``epoch``: the sender's.
    """

    number: int
    time: float
    partition: str
    agent: str
    epoch: int
    accepted: bool
    how: str = ""
    """How the change was applied (:data:`ApplyMethod`), ``guard`` for a takeover, or the reason for the refusal."""
    load_balancer_ids: tuple[str, ...] = ()
    """Ids of the load balancers in the change, at most 50."""
    request_ids: tuple[str, ...] = ()
    """Values of ``X-Request-Id`` of the API requests whose changes the agent wrote, at most 20."""


class Journal(Wire):
    """The most recent write attempts above the requested number, oldest first; the daemon keeps at most
    2,000.
    """

    entries: tuple[JournalEntry, ...] = ()


# -- refusals ----------

RefusalCode = Literal[
    "unauthorized",  # 401
    "invalid",  # 400: ``reason`` names field, value and what is allowed
    "not_found",  # 404
    "stale_owner",  # 409: ``epoch`` is the guard's
    "not_guarded",  # 409: move the guard and PUT everything; ``epoch`` is the guard's, None: there is none
    "too_far",  # 409: the guard, at ``epoch``, may not be raised by this many epochs at once
    "other_owner",  # 409: the partitions belong to another device group
    "too_large",  # 413
    "failed",  # 500: the daemon failed; ``reason`` gives the cause
    "busy",  # 503: retry later
]


class DaemonRefusal(Wire):
    """Body of every error response. The accepted state is unchanged, except that a change refused as ``busy``
    after the response's time-out continues. ``epoch``: the guard's, for ``stale_owner``, ``not_guarded``
    and ``too_far``; else None.
    """

    code: RefusalCode
    reason: str
    epoch: int | None = None
