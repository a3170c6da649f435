"""Quotas, flavors, availability zones, providers, and amphorae, of which there are none."""

from tests.api.client_stories.step import Step

ZONE_CAPABILITIES = [{"name": name} for name in ("environment_group_number", "compute_zone", "volume_zone")]
QUOTAS = (
    Step("quota defaults show", {"load_balancer": -1, "l7rule": -1}),
    Step(
        "quota set --loadbalancer 1 --listener 2 --pool 3 --member 4 --healthmonitor 5 --l7policy 6 --l7rule 7 poor",
        {"load_balancer": 1, "listener": 2, "pool": 3, "member": 4, "health_monitor": 5, "l7policy": 6, "l7rule": 7},
    ),
    Step("quota show poor", {"load_balancer": 1, "l7rule": 7}),
    Step("quota list --project poor", [{"project_id": "poor", "load_balancer": 1}]),
    Step("create --name only --vip-subnet-id blue --project poor --wait"),
    Step("create --vip-subnet-id blue --project poor", refused="Quota has been met for resources: Load Balancer"),
    Step("quota unset --loadbalancer --listener --pool --member --healthmonitor --l7policy poor"),
    Step("quota show poor", {"load_balancer": -1, "health_monitor": -1, "l7rule": 7}),
    Step("quota unset --l7rule poor"),
    Step("quota set --member 9 poor", {"member": 9, "l7rule": -1}),
    Step("quota reset poor"),
    Step("quota show poor", {"member": -1}),
    Step("delete --wait only"),
)

FLAVORS = (
    Step("flavorprofile create --name fp --provider dev --flavor-data '{{\"a\": 1}}'", {"provider_name": "dev"}),
    Step("flavorprofile create --name fq --provider dev --flavor-data '{{}}'"),
    Step("flavorprofile list --name fp --provider dev", [{"name": "fp"}]),
    Step("flavorprofile set --name fp2 --provider dev --flavor-data '{{\"a\": 2}}' fp"),
    Step("flavorprofile show fp2", {"flavor_data": '{{"a": 2}}'}),
    Step("flavor create --name gold --flavorprofile fp2 --description d --enable", {"enabled": True}),
    Step("flavor create --name tin --flavorprofile fp2 --disable", {"enabled": False}),
    Step("flavor list --name gold --flavorprofile fp2 --enable", [{"name": "gold"}]),
    Step("flavor list --name tin --disable", [{"name": "tin"}]),
    Step("flavor set --name silver --description e --disable gold"),
    Step("flavor show silver", {"description": "e", "enabled": False}),
    Step("flavor unset --description silver"),
    Step("flavor set --enable silver"),
    Step("flavor show silver", {"description": "", "enabled": True}),
    Step("flavorprofile delete fp2", refused="in use"),
    Step("flavor delete silver"),
    Step("flavor delete tin"),
    Step("flavorprofile delete fp2"),
    Step("flavorprofile delete fq"),
    Step("flavor show silver", refused="Unable to locate silver in flavors"),
)

ZONES = (
    Step(
        "availabilityzoneprofile create --name zp --provider dev "
        "--availability-zone-data '{{\"environment_group_number\": 1}}'",
        {"provider_name": "dev"},
    ),
    Step("availabilityzoneprofile list --name zp --provider dev", [{"name": "zp"}]),
    Step("availabilityzoneprofile set --name zp2 --provider dev --availability-zone-data '{{}}' zp"),
    Step("availabilityzoneprofile show zp2", {"availability_zone_data": "{{}}"}),
    Step("availabilityzone create --name east --availabilityzoneprofile zp2 --description d --enable"),
    Step("availabilityzone create --name west --availabilityzoneprofile zp2 --disable", {"enabled": False}),
    Step("availabilityzone list --name east --availabilityzoneprofile zp2 --enable", [{"name": "east"}]),
    Step("availabilityzone list --name west --disable", [{"name": "west"}]),
    Step("availabilityzone set --description e --disable east"),
    Step("availabilityzone show east", {"description": "e", "enabled": False}),
    Step("availabilityzone unset --description east"),
    Step("availabilityzone set --enable east"),
    Step("availabilityzone show east", {"description": "", "enabled": True}),
    Step("availabilityzone delete east"),
    Step("availabilityzone delete west"),
    Step("availabilityzoneprofile delete zp2"),
)

PROVIDERS = (
    Step("provider list", [{"name": "dev", "description": "noop devices"}]),
    Step("provider capability list dev", [{"type": "flavor", "name": "amp_image_tag"}, *ZONE_CAPABILITIES]),
    Step("provider capability list --flavor dev", [{"name": "amp_image_tag"}]),
    Step("provider capability list --availability-zone dev", ZONE_CAPABILITIES),
    Step("provider capability list nobody", refused="nobody"),
)

NO_AMPHORA = "00000000-0000-4000-8000-000000000000"
AMPHORAE = (
    Step("create --name without --vip-subnet-id blue --wait"),
    Step("amphora list --loadbalancer without --role MASTER --status READY --image-id i --compute-id c --long", []),
    Step("amphora list", []),
    Step(f"amphora show {NO_AMPHORA}", refused="not found"),
    Step(f"amphora configure --wait {NO_AMPHORA}", refused=f"Unable to locate {NO_AMPHORA} in amphorae"),
    Step(f"amphora failover --wait {NO_AMPHORA}", refused=f"Unable to locate {NO_AMPHORA} in amphorae"),
    Step(f"amphora stats show --listener any {NO_AMPHORA}", refused="any"),
    Step(f"amphora stats show {NO_AMPHORA}", refused="not found"),
    Step(f"amphora delete --wait {NO_AMPHORA}", refused="not found"),
    Step("delete --wait without"),
)
