"""The no-op driver configures nothing, so it accepts every feature of the API. It lists the settings of flavors and
availability zones that Octavia's no-op driver lists, and takes any."""

from msgspec.structs import replace

from evenkeel.core.devices.capabilities import ALL_CAPABILITIES

CAPABILITIES = replace(
    ALL_CAPABILITIES,
    standby="silent",
    flavor_metadata={"amp_image_tag": "The glance image tag to use for this load balancer."},
    availability_zone_metadata={
        "compute_zone": "The compute availability zone to use for this loadbalancer.",
        "volume_zone": "The volume availability zone to use for this loadbalancer.",
    },
    other_metadata=True,
)
