"""More of a load balancer: additional VIPs, what its VIP's port has, and failover."""

from tests.api.client_stories.step import Step

VIPS = (
    Step(
        "create --name many --vip-subnet-id blue --additional-vip subnet-id=green,ip-address=10.11.3.3 "
        "--vip-qos-policy-id slow --vip-sg-id web --vip-sg-id admin --wait",
        {
            "additional_vips": [{"ip_address": "10.11.3.3"}],
            "vip_qos_policy_id": "slow",
            "vip_sg_ids": ["web", "admin"],
        },
        keeps="many",
    ),
    Step("create --vip-subnet-id green --vip-address 10.11.3.3", refused="10.11.3.3 is in use"),
    Step("create --name ported --vip-port-id none-here", refused="Unable to locate none-here in ports"),
    Step("list --vip-port-id none-here", refused="Unable to locate none-here in ports"),
    Step("list --vip-qos-policy-id slow", [{"name": "many"}]),
    Step("set --vip-qos-policy-id fast --vip-sg-id other --wait many"),
    Step("show many", {"vip_qos_policy_id": "fast"}),
    Step("unset --vip-qos-policy-id --vip-sg-id --wait many"),
    Step("show many", {"vip_qos_policy_id": None, "vip_sg_ids": []}),
    Step("delete --wait many"),
)

FAILOVER = (
    Step("create --name moving --vip-subnet-id blue --wait"),
    Step("failover --wait moving"),
    Step("show moving", {"provisioning_status": "ACTIVE"}),
    Step("failover nobody", refused="Unable to locate nobody in loadbalancers"),
    Step("delete --wait moving"),
)
