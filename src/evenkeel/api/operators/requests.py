"""Request bodies of the operators' API."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from evenkeel.api.http.bodies import Request
from evenkeel.api.http.fields import END, NO_NUL, Address, ObjectId, ProjectId, SecretText, Text
from evenkeel.api.usecases.parents import without_duplicates
from evenkeel.core.control.environments import Environment
from evenkeel.core.kit.names import ENVIRONMENT_NAME_PATTERN, ENVIRONMENT_NAME_RULE, MAX_ENVIRONMENT_NAME_CHARACTERS
from evenkeel.core.networking.networks import SEGMENTS_MAX
from evenkeel.core.resources.statuses import FailbackMode

EnvironmentName = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=MAX_ENVIRONMENT_NAME_CHARACTERS,
        pattern=f"^{ENVIRONMENT_NAME_PATTERN}{END}",
        extra_json_schema={"description": ENVIRONMENT_NAME_RULE},
    ),
]
DriverName = Annotated[str, Meta(min_length=1, max_length=64, pattern=r"^[a-z][a-z0-9_-]*" + END)]
Failback = Literal["auto", "manual", "never"]
BreakerShare = Annotated[float, Meta(ge=0, le=1)]
BreakerAgents = Annotated[int, Meta(ge=1, le=10_000)]
MAX_VIP_NETWORKS = 50
VipNetworkIds = Annotated[list[ObjectId], Meta(max_length=MAX_VIP_NETWORKS)]
Cidr = Annotated[
    str,
    Meta(
        max_length=49,
        pattern=r"^[0-9A-Fa-f.:]+/[0-9]{1,3}" + END,
        extra_json_schema={"description": "a network like 10.0.0.0/24"},
    ),
]
MAX_RESERVED = 100
Reserved = Annotated[
    str,
    Meta(max_length=91, extra_json_schema={"description": "an address, or a range like 10.0.0.1-10.0.0.9"}),
]
Reserves = Annotated[list[Reserved], Meta(max_length=MAX_RESERVED)]
SubnetName = Annotated[str, Meta(min_length=1, max_length=255, pattern=NO_NUL)]


# -- agents


class AgentChange(Request):
    """Changes of an agent. ``admin_state_up`` false drains the agent."""

    admin_state_up: bool


class AgentChangeBody(Request):
    """Body of PUT /agents/{id}."""

    agent: AgentChange


class ForceDownBody(Request):
    """Body of PUT /agents/{id}/force-down."""

    down: bool


class RebindBody(Request):
    """Body of PUT /agents/{id}/rebind and /shards/{id}/rebind. ``to``: id of the new home agent."""

    to: ObjectId


# -- moves


class MoveWanted(Request):
    """A move of one load balancer, or of all load balancers of a project in an environment, to a device group."""

    load_balancer_id: ObjectId | None = None
    project_id: ProjectId | None = None
    environment: EnvironmentName | None = None
    """Environment of the project's load balancers; the default provider if absent."""
    to_environment: EnvironmentName | None = None
    """Environment to which a load balancer moves; its own if absent."""
    to_group: Annotated[int, Meta(ge=0, le=2_147_483_647)] | None = None
    """Number of the device group; may be absent if another environment has only one."""
    apply: bool = False
    """True: carry out the plan; False: return it only."""


class MoveBody(Request):
    """Body of POST /moves."""

    move: MoveWanted


# -- environments

_USUAL = Environment(name="usual", device_driver="noop")


class EnvironmentNew(Request):
    """A new environment, which is a provider for tenants."""

    name: EnvironmentName
    device_driver: DriverName
    description: Text = ""
    failback: Failback = _USUAL.failback.value
    breaker_share: BreakerShare = _USUAL.breaker_share
    breaker_agents: BreakerAgents = _USUAL.breaker_agents
    vip_networks_allowed: VipNetworkIds = []
    vip_networks_denied: VipNetworkIds = []

    def to_environment(self) -> Environment:
        """Return the environment to store, with lists of networks without duplicates."""
        return Environment(
            name=self.name,
            device_driver=self.device_driver,
            description=self.description,
            failback=FailbackMode(self.failback),
            breaker_share=self.breaker_share,
            breaker_agents=self.breaker_agents,
            vip_networks_allowed=without_duplicates(self.vip_networks_allowed),
            vip_networks_denied=without_duplicates(self.vip_networks_denied),
        )


class EnvironmentNewBody(Request):
    """Body of POST /environments."""

    environment: EnvironmentNew


class EnvironmentChange(Request):
    """Changes of an environment; absent attributes stay unchanged."""

    description: Text | UnsetType = UNSET
    failback: Failback | UnsetType = UNSET
    breaker_share: BreakerShare | UnsetType = UNSET
    breaker_agents: BreakerAgents | UnsetType = UNSET
    vip_networks_allowed: VipNetworkIds | UnsetType = UNSET
    vip_networks_denied: VipNetworkIds | UnsetType = UNSET


class EnvironmentChangeBody(Request):
    """Body of PUT /environments/{name}."""

    environment: EnvironmentChange


# -- subnets


class SubnetNew(Request):
    """A new address pool. Without an allocation range: the larger range of host addresses on one side of the
    gateway.
    """

    cidr: Cidr
    name: SubnetName | None = None
    id: ObjectId | None = None
    network_id: ObjectId | None = None
    gateway_ip: Address | None = None
    allocation_start: Address | None = None
    allocation_end: Address | None = None
    project_id: ProjectId | None = None
    reserved: Reserves | None = None
    device_addresses: Reserves | None = None


class SubnetNewBody(Request):
    """Body of POST /subnets."""

    subnet: SubnetNew


class SubnetChange(Request):
    """Changes of an address pool. ``device_addresses``: addresses and ranges that devices may have, in place
    of the present ones.
    """

    device_addresses: Reserves


class SubnetChangeBody(Request):
    """Body of PUT /subnets/{id}."""

    subnet: SubnetChange


# -- networks

NetworkTypeName = Literal["flat", "vlan", "vxlan", "gre"]
PhysicalNetwork = Annotated[str, Meta(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*" + END)]
SegmentationId = Annotated[int, Meta(ge=1, le=max(SEGMENTS_MAX.values()))]
Mtu = Annotated[int, Meta(ge=576, le=9198)]
MAX_VTEPS = 1000
Vteps = Annotated[list[Address], Meta(max_length=MAX_VTEPS)]


class NetworkNew(Request):
    """A network to which devices may be attached. ``flat`` and ``vlan`` need ``physical_network``; all but ``flat``
    need ``segmentation_id``. ``vteps``: tunnel end points of the network's hosts.
    """

    network_type: NetworkTypeName
    name: SubnetName | None = None
    id: ObjectId | None = None
    physical_network: PhysicalNetwork | None = None
    segmentation_id: SegmentationId | None = None
    mtu: Mtu | None = None
    project_id: ProjectId | None = None
    shared: bool = False
    external: bool = False
    vteps: Vteps | None = None


class NetworkNewBody(Request):
    """Body of POST /networks."""

    network: NetworkNew


class NetworkChange(Request):
    """Changes of a network; absent attributes stay unchanged."""

    name: SubnetName | UnsetType = UNSET
    physical_network: PhysicalNetwork | UnsetType = UNSET
    segmentation_id: SegmentationId | UnsetType = UNSET
    mtu: Mtu | UnsetType | None = UNSET
    shared: bool | UnsetType = UNSET
    external: bool | UnsetType = UNSET
    vteps: Vteps | UnsetType = UNSET


class NetworkChangeBody(Request):
    """Body of PUT /networks/{id}."""

    network: NetworkChange


# -- certificates

CertificateName = Annotated[str, Meta(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*" + END)]


class CertificateNew(Request):
    """A certificate to add to the key manager: ``pem``, which may contain key and intermediates, or ``pkcs12`` in
    base64; or ``names`` for which the controllers request one from the authority (ACME).
    """

    project_id: ProjectId
    name: CertificateName
    kind: Literal["certificate", "authority", "revocation_list"] = "certificate"
    pem: SecretText | None = None
    pkcs12: SecretText | None = None
    private_key: SecretText | None = None
    intermediates: SecretText | None = None
    passphrase: SecretText | None = None
    replace: bool = False
    names: list[Annotated[str, Meta(min_length=1, max_length=1000)]] | None = None
    """DNS names of a certificate to be requested; the first one is its subject. Null: the content is given."""
    self_signed_until_issued: bool = False
    """With ``names``: listeners can use a self-signed certificate at once, until the authority has issued one."""
    authority: Annotated[str, Meta(min_length=1, max_length=32)] | None = None
    """With ``names``: name of the authority; null: the project's default."""


class Refresh(Request):
    """The reference to key managers to read again; null: all references."""

    reference: Annotated[str, Meta(min_length=1, max_length=255)] | None = None


class RefreshBody(Request):
    """Body of POST /references/refresh."""

    refresh: Refresh


class Revocation(Request):
    """Why a certificate is revoked."""

    reason: Literal["unspecified", "keyCompromise", "affiliationChanged", "superseded", "cessationOfOperation"] = (
        "unspecified"
    )


class RevocationBody(Request):
    """Body of PUT /certificates/{project_id}/{name}/revoke."""

    revocation: Revocation


class CertificateNewBody(Request):
    """Body of POST /certificates."""

    certificate: CertificateNew


class Adoption(Request):
    """Whether to adopt a tenant's partition, which another program made on the devices, or only to plan the
    adoption.
    """

    apply: bool = False
    give_back: bool = False
    """True: plan, or do, the reverse: give the partition back to the program from which it was adopted."""
    keep_irules: bool = False
    """True: iRules that an operator attached stay on the virtual servers."""


class IrulesBody(Request):
    """Body of PUT /listeners/{id}/irules."""

    irules: list[str]


class AdoptionBody(Request):
    """Body of POST /shards/{id}/adoption."""

    adoption: Adoption
