"""The ports: interfaces to everything outside the core.

Each port's adapters are in a package of their own; ``evenkeel.cmd`` wires them. Unless a method's docstring
says otherwise, every asynchronous method of a port to a service may raise the port's subclass of
:class:`Unavailable`, such as :class:`StoreUnavailable`; callers decide whether to wait.
"""

from evenkeel.core.ports.acme import AcmeStore, DnsZone, KeyPairMaker, NameResolver, OrderingAuthority
from evenkeel.core.ports.attachments import AttachmentStore
from evenkeel.core.ports.bus import Bus, Handler, Subscription, Will
from evenkeel.core.ports.catalogue import CatalogueStore
from evenkeel.core.ports.clock import Clock
from evenkeel.core.ports.device import Attachable, Device, IruleKeeper, NetworkAdopter, PartitionReturner, Reloadable
from evenkeel.core.ports.imports import ImportStore
from evenkeel.core.ports.key_manager import CertificateStore, KeyManager
from evenkeel.core.ports.lbaas_v1 import LbaasV1Store
from evenkeel.core.ports.mirrors import MirrorStore
from evenkeel.core.ports.network import Network, NetworkObjectKind
from evenkeel.core.ports.notifications import NotificationSender, NotificationStore
from evenkeel.core.ports.operators import OperatorStore
from evenkeel.core.ports.ownership import FoundServices, OwnershipStore
from evenkeel.core.ports.quotas import QuotaStore
from evenkeel.core.ports.renewals import RenewalStore
from evenkeel.core.ports.reports import ReportStore
from evenkeel.core.ports.scheduling import SchedulingStore
from evenkeel.core.ports.store import Store
from evenkeel.core.ports.tenants import TenantStore
from evenkeel.core.ports.vips import ClaimStore, LostPortStore, PortStore

__all__ = [
    "AcmeStore",
    "Attachable",
    "AttachmentStore",
    "Bus",
    "CatalogueStore",
    "CertificateStore",
    "ClaimStore",
    "Clock",
    "Device",
    "DnsZone",
    "FoundServices",
    "Handler",
    "ImportStore",
    "IruleKeeper",
    "KeyManager",
    "KeyPairMaker",
    "LbaasV1Store",
    "LostPortStore",
    "MirrorStore",
    "NameResolver",
    "Network",
    "NetworkAdopter",
    "NetworkObjectKind",
    "NotificationSender",
    "NotificationStore",
    "OperatorStore",
    "OrderingAuthority",
    "OwnershipStore",
    "PartitionReturner",
    "PortStore",
    "QuotaStore",
    "Reloadable",
    "RenewalStore",
    "ReportStore",
    "SchedulingStore",
    "Store",
    "Subscription",
    "TenantStore",
    "Will",
]
