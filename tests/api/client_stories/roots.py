"""Load balancers."""

from tests.api.bodies import SUBNET_ID
from tests.api.client_stories.step import Step
from tests.api.subnet import SUBNET

NETWORK = SUBNET.network_id

LOAD_BALANCERS = (
    Step(
        "create --name web --description d --vip-subnet-id blue --vip-address 10.10.9.9 --project p1 --provider dev "
        "--enable --tag a --tag b --wait",
        {"provisioning_status": "ACTIVE", "vip_address": "10.10.9.9", "project_id": "p1", "tags": ["a", "b"]},
        keeps="web",
    ),
    Step(
        f"create --name quiet --vip-network-id {NETWORK} --disable --no-tag --wait",
        {"admin_state_up": False, "vip_network_id": NETWORK, "tags": []},
    ),
    Step("create --vip-subnet-id blue --vip-address 10.10.9.9", refused="10.10.9.9 is in use"),
    Step("create --vip-subnet-id nowhere", refused="Unable to locate nowhere in subnets"),
    Step("show web", {"name": "web", "description": "d", "vip_subnet_id": SUBNET_ID, "listeners": []}),
    Step("list --project p1", [{"name": "web", "vip_address": "10.10.9.9"}]),
    Step("list --name web --enable --provisioning-status ACTIVE --provider dev", [{"name": "web"}]),
    Step("list --disable --name quiet", [{"name": "quiet"}]),
    Step(f"list --name web --vip-network-id {NETWORK} --vip-subnet-id blue", [{"name": "web"}]),
    Step("list --name web --operating-status ERROR", []),
    Step("list --tags a,b", [{"name": "web"}]),
    Step("list --any-tags b,c", [{"name": "web"}]),
    Step("list --not-tags a,b --name web", []),
    Step("list --not-any-tags a --project p1", []),
    Step("set --name web2 --description e --disable --tag c --wait web"),
    Step("show web2", {"description": "e", "admin_state_up": False, "tags": ["a", "b", "c"], "id": "{web}"}),
    Step("unset --description --tag a --tag b --wait web2"),
    Step("show web2", {"description": "", "tags": ["c"]}),
    Step("set --no-tag --tag z --enable --wait web2"),
    Step("show web2", {"tags": ["z"], "admin_state_up": True}),
    Step("unset --all-tag --name --wait {web}"),
    Step("show {web}", {"tags": [], "name": ""}),
    Step("stats show {web}", {"bytes_in": 0, "bytes_out": 0, "active_connections": 0, "total_connections": 0}),
    Step("status show {web}", {"loadbalancer": {"id": "{web}", "provisioning_status": "ACTIVE", "listeners": []}}),
    Step("show nobody", refused="Unable to locate nobody in loadbalancers"),
    Step("listener create --name below --protocol HTTP --protocol-port 80 --wait {web}"),
    Step("delete {web}", refused="{web}"),
    Step("delete --cascade --wait {web}"),
    Step("delete --wait quiet"),
    Step("list --project p1", []),
)

CHOSEN = (
    Step("flavorprofile create --name chosen --provider dev --flavor-data '{{}}'"),
    Step("flavor create --name chosen --flavorprofile chosen"),
    Step("availabilityzoneprofile create --name chosen --provider dev --availability-zone-data '{{}}'"),
    Step("availabilityzone create --name chosen --availabilityzoneprofile chosen"),
    Step(
        "create --name fine --vip-subnet-id blue --flavor chosen --availability-zone chosen --wait",
        {"availability_zone": "chosen"},
    ),
    Step("list --flavor chosen", [{"name": "fine"}]),
    Step("list --availability-zone chosen", [{"name": "fine"}]),
    Step("delete --wait fine"),
)
