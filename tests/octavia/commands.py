"""Command lines of tenants and administrators at Octavia's endpoint: every command of the client, for one provider.

``{provider}``, ``{subnet}``, ``{address}``, ``{port}``, ``{web1}`` and ``{web2}`` (ports of web servers) are given.
"""

from tests.api.client_stories.catalogue import NO_AMPHORA
from tests.api.client_stories.step import Step, Story

SITE: Story = (
    Step(
        "create --name site-{provider} --provider {provider} --vip-subnet-id {subnet} --vip-address {address} --wait",
        {"provisioning_status": "ACTIVE", "vip_address": "{address}", "provider": "{provider}"},
        keeps="root",
    ),
    Step(
        "pool create --name web-{provider} --protocol HTTP --lb-algorithm ROUND_ROBIN --loadbalancer {root} --wait",
        {"provisioning_status": "ACTIVE"},
        keeps="pool",
    ),
    *(
        Step(
            f"member create --address 127.0.0.1 --protocol-port {{web{number}}} --wait {{pool}}",
            {"provisioning_status": "ACTIVE"},
            keeps=f"member{number}",
        )
        for number in (1, 2)
    ),
    Step(
        "healthmonitor create --name look --type HTTP --delay 2 --timeout 1 --max-retries 1 --wait {pool}",
        {"provisioning_status": "ACTIVE", "type": "HTTP"},
        keeps="monitor",
    ),
    Step(
        "listener create --name front --protocol HTTP --protocol-port {port} --default-pool {pool} --wait {root}",
        {"provisioning_status": "ACTIVE"},
        keeps="listener",
    ),
    Step("l7policy create --name no --action REJECT --wait {listener}", {"action": "REJECT"}, keeps="policy"),
    Step(
        "l7rule create --type PATH --compare-type STARTS_WITH --value /no --wait {policy}",
        {"provisioning_status": "ACTIVE"},
        keeps="rule",
    ),
)
"""A load balancer with all kinds of objects below it."""

READ: Story = (
    Step("list --name site-{provider}", [{"id": "{root}", "provisioning_status": "ACTIVE"}]),
    Step("show {root}", {"listeners": [{"id": "{listener}"}], "pools": [{"id": "{pool}"}]}),
    Step("stats show {root}"),
    Step("status show {root}", {"loadbalancer": {"id": "{root}", "provisioning_status": "ACTIVE"}}),
    Step("listener list --loadbalancer {root}", [{"id": "{listener}"}]),
    Step("listener show {listener}", {"default_pool_id": "{pool}"}),
    Step("listener stats show {listener}"),
    Step("pool list --loadbalancer {root}", [{"id": "{pool}"}]),
    Step("pool show {pool}", {"healthmonitor_id": "{monitor}"}),
    Step("member list {pool}"),
    Step("member show {pool} {member1}", {"address": "127.0.0.1"}),
    Step("healthmonitor list"),
    Step("healthmonitor show {monitor}", {"delay": 2}),
    Step("l7policy list --listener {listener}", [{"id": "{policy}"}]),
    Step("l7policy show {policy}", {"rules": [{"id": "{rule}"}]}),
    Step("l7rule list {policy}", [{"id": "{rule}"}]),
    Step("l7rule show {policy} {rule}", {"value": "/no"}),
)

CHANGE: Story = (
    Step("set --description changed --tag a --wait {root}"),
    Step("unset --description --wait {root}"),
    Step("show {root}", {"description": "", "tags": ["a"]}),
    Step("listener set --connection-limit 500 --wait {listener}"),
    Step("listener unset --connection-limit --wait {listener}"),
    Step("listener show {listener}", {"connection_limit": -1}),
    Step("pool set --session-persistence type=HTTP_COOKIE --wait {pool}"),
    Step("pool unset --session-persistence --wait {pool}"),
    Step("pool show {pool}", {"session_persistence": None}),
    Step("member set --weight 5 --wait {pool} {member1}"),
    Step("member unset --weight --wait {pool} {member1}"),
    Step("member show {pool} {member1}", {"weight": 1}),
    Step("healthmonitor set --delay 3 --url-path /up --wait {monitor}"),
    Step("healthmonitor unset --url-path --wait {monitor}"),
    Step("healthmonitor show {monitor}", {"delay": 3, "url_path": "/"}),
    Step("l7policy set --description d --wait {policy}"),
    Step("l7policy unset --description --wait {policy}"),
    Step("l7rule set --value /never --wait {policy} {rule}"),
    Step("l7rule unset --invert --wait {policy} {rule}"),
    Step("l7rule show {policy} {rule}", {"value": "/never", "invert": False}),
    Step("failover --wait {root}"),
    Step("show {root}", {"provisioning_status": "ACTIVE"}),
)

REMOVE: Story = (
    Step("l7rule delete --wait {policy} {rule}"),
    Step("l7policy delete --wait {policy}"),
    Step("listener delete --wait {listener}"),
    Step("healthmonitor delete --wait {monitor}"),
    Step("member delete --wait {pool} {member1}"),
    Step("pool delete --wait {pool}"),
    Step("delete --wait {root}"),
    Step("list --name site-{provider}", []),
)

ADMINISTRATION: Story = (
    Step("provider list"),
    Step("provider capability list {provider}"),
    Step("flavorprofile create --name f-{provider} --provider {provider} --flavor-data '{{}}'", keeps="profile"),
    Step("flavorprofile list --name f-{provider}", [{"id": "{profile}"}]),
    Step("flavorprofile set --name g-{provider} {profile}"),
    Step("flavorprofile show {profile}", {"name": "g-{provider}"}),
    Step("flavor create --name fl-{provider} --flavorprofile {profile} --description d --enable", keeps="flavor"),
    Step("flavor list --name fl-{provider}", [{"id": "{flavor}"}]),
    Step("flavor set --description e {flavor}"),
    Step("flavor unset --description {flavor}"),
    Step("flavor show {flavor}", {"description": "", "enabled": True}),
    Step(
        "availabilityzoneprofile create --name z-{provider} --provider {provider} --availability-zone-data '{{}}'",
        keeps="zones",
    ),
    Step("availabilityzoneprofile list --name z-{provider}", [{"id": "{zones}"}]),
    Step("availabilityzoneprofile set --name y-{provider} {zones}"),
    Step("availabilityzoneprofile show {zones}", {"name": "y-{provider}"}),
    Step("availabilityzone create --name az-{provider} --availabilityzoneprofile {zones}"),
    Step("availabilityzone list --name az-{provider}", [{"name": "az-{provider}"}]),
    Step("availabilityzone set --description e az-{provider}"),
    Step("availabilityzone unset --description az-{provider}"),
    Step("availabilityzone show az-{provider}", {"description": ""}),
    Step(
        "create --name chosen-{provider} --provider {provider} --vip-subnet-id {subnet} --vip-address {address} "
        "--flavor {flavor} --availability-zone az-{provider} --wait",
        {"flavor_id": "{flavor}", "availability_zone": "az-{provider}"},
        keeps="root",
    ),
    Step("delete --cascade --wait {root}"),
    Step("flavor delete {flavor}"),
    Step("flavorprofile delete {profile}"),
    Step("availabilityzone delete az-{provider}"),
    Step("availabilityzoneprofile delete {zones}"),
    Step("quota defaults show"),
    Step("quota set --listener 7 q-{provider}", {"listener": 7}),
    Step("quota show q-{provider}", {"listener": 7}),
    Step("quota list --project q-{provider}", [{"project_id": "q-{provider}"}]),
    Step("quota unset --listener q-{provider}"),
    Step("quota reset q-{provider}"),
    Step("amphora list", []),
    Step(f"amphora show {NO_AMPHORA}", refused=NO_AMPHORA),
    Step(f"amphora configure {NO_AMPHORA}", refused=NO_AMPHORA),
    Step(f"amphora failover {NO_AMPHORA}", refused=NO_AMPHORA),
    Step(f"amphora stats show {NO_AMPHORA}", refused=NO_AMPHORA),
    Step(f"amphora delete {NO_AMPHORA}", refused=NO_AMPHORA),
)
