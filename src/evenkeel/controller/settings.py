"""Settings of a controller. Times in seconds."""

from evenkeel.core.kit.values import Value
from evenkeel.core.protocol.messages import CERTIFICATES_SECONDS_MAX


class TrafficSettings(Value):
    """Settings of the series of load balancers' traffic that a controller keeps in memory."""

    interval_seconds: float = 60.0
    """Interval between two points."""
    points: int = 0
    """Number of points per load balancer; 0: no series are kept."""
    load_balancers_max: int = 10_000


class NotificationSettings(Value):
    """Settings of notifications of load balancers' events."""

    shapes: tuple[str, ...]
    """Shapes in which each event is sent: of :data:`evenkeel.controller.notification_shapes.SHAPES`."""
    host: str
    """Host name in the publisher of Neutron's shape."""
    waiting_max: int = 100_000
    """Number of unsent events above which the oldest are dropped."""


class ControllerSettings(Value):
    """Intervals and limits of a controller."""

    session_ttl_seconds: float = 5.0
    """Time after the last keepalive at which an agent's session expires, by the database's clock."""
    schedule_interval_seconds: float = 0.5
    sweep_interval_seconds: float = 5.0
    hint_repeat_seconds: float = 10.0
    """Interval at which hints about unconfirmed work are sent again."""
    release_interval_seconds: float = 1.0
    """Interval between checks for ports to delete, bind or update at the network service."""
    settle_seconds: float = 15.0
    """Time for which a home agent must have been up before its shards are handed back."""
    handbacks_at_once: int = 4
    """Maximum number of shards of one device group in handover back to their home."""
    handovers_at_once: int = 16
    """Maximum number of shards of one device group in handover from agents that are drained or reach fewer devices."""
    homes_interval_seconds: float = 3.0
    """Interval between checks for shards away from their home."""
    calm_look_seconds: float = 15.0
    """Interval between complete scans by the scheduler while its change indicator shows no change. Changes that the
    indicator does not show, such as another policy of an environment, take that long.
    """
    balance_interval_seconds: float = 0.0
    """Interval between planned moves of a shard in each device group whose homes are spread unevenly; 0: none."""
    breaker_window_seconds: float = 30.0
    """Window within which agents that fall silent count as silent at the same time."""
    suspicion_interval_seconds: float = 0.4
    """Interval between probes of the agents' presence on the bus; 0: no probes, only the TTL decides."""
    placements_per_tick: int = 100
    callback_concurrency: int = 16
    """Number of messages of one environment handled at a time."""
    keepalive_concurrency: int = 400
    """Number of keepalives of one environment handled at a time, in addition to other messages."""
    keepalive_round_seconds: float = 0.1
    """Time for which keepalives are collected and then answered together; at most a twentieth of the sessions' TTL,
    because an agent's wait shortens its lease. A keepalive that arrived before the failure detector ended its
    session does not revive it.
    """
    renewal_interval_seconds: float = 2.0
    """Interval between checks for references to key managers that are due to be read again."""
    own_certificates_seconds: float = 30.0
    """Interval between checks of the product's own certificates; they are recorded after a change, and every hour."""
    certificate_calls_at_once: int = 4
    """Maximum number of :class:`GetCertificates` calls in progress, so that other calls do not wait for a key
    manager.
    """
    key_manager_reads_at_once: int = 8
    """Maximum number of concurrent reads at the key manager for one :class:`GetCertificates` call."""
    certificate_answer_seconds: float = CERTIFICATES_SECONDS_MAX
    """Time limit of the key manager's answers; contents that are missing by then are reported as problems."""
    network_answer_seconds: float = 4.0
    """Time limit of the network service for one :class:`GetServices` call; facts and ports that are missing by then
    are reported as problems. It is below the agents' time-out.
    """
    network_facts_seconds: float = 300.0
    """Interval at which facts of networks with attached devices are read again from the network service."""
    port_search_seconds: float = 30.0
    """Interval at which each VIP's port is looked for at the network service."""
    work_per_sync: int = 500
    """Maximum number of load balancers with unconfirmed changes named in one answer to an agent's sync; applied
    separately to each common shard's networks, and to copies of moving load balancers.
    """
    assignments_per_answer: int = 1000
    """Maximum number of shards on a page of assignments, 110 bytes each."""
    expected_per_answer: int = 1000
    """Maximum number of ids of expected load balancers in one answer to an agent."""
    max_message_bytes: int = 1024 * 1024
    """Largest message that the message bus accepts."""
    answer_bytes: int = 512 * 1024
    """Maximum size of an answer with more than one service definition."""
    stop_timeout_seconds: float = 5.0
    """Time that messages being handled get to finish when the controller stops."""
    orphan_grace_seconds: float = 86_400.0
    """Time from the first report of an orphaned partition or load balancer to its removal; 0: never."""
    orphans_per_answer: int = 10
    """Number of orphaned load balancers of a shard that one pass may remove, so that a mistake is noticed early."""
    events_kept: int = 10_000
    traffic: TrafficSettings = TrafficSettings()
