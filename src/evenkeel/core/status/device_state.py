"""State of one device, as its agent reports it."""

from evenkeel.core.kit.names import name_and_id
from evenkeel.core.kit.values import Wire


class DeviceState(Wire):
    """State of one device, reported by an agent. ``name``: address that identifies the device; ``version``:
    of the device's software; ``failover_state``: in the device's own words.
    """

    name: str
    reachable: bool
    version: str = ""
    failover_state: str = ""
    problem: str = ""
    """Problem of the device (human-readable); empty when the device is usable."""
    limitation: str = ""
    """Services that a usable device refuses, with the reason (human-readable): load balancers that need them get an
    error there, and others are served. Empty: none.
    """
    identity: str = ""
    """Unique id that does not depend on the address: a serial number, the id of an installation. Empty: not known."""
    incarnation: str = ""
    """Value that changes whenever the device may hold another configuration than the agent last sent: it restarted, was
    restored or lost its state. Empty: not known.
    """
    certificate_ends_at: float | None = None
    """Unix time at which the certificate of the device's management address expires; None: not known."""
    sync_state: str = ""
    """State of the configuration synchronisation with the other devices of the device's cluster, in the device's own
    words. Empty: not known, or the device has no synchronisation.
    """
    own_name: str = ""
    """Name of the device in its own configuration: ``name`` of a daemon beside HAProxy, the host name of a BIG-IP;
    while the device is out of reach, that of the last contact. Empty: not known. ``name`` identifies the device,
    ``own_name`` is shown to people.
    """

    @property
    def title(self) -> str:
        """Text that names the device: its own name before its address; the address alone if no own name is
        known.
        """
        return name_and_id(self.own_name, self.name)
