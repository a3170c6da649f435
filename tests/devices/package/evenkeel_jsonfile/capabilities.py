"""What files can hold: anything but more than one address of a load balancer."""

from msgspec.structs import replace

from evenkeel.core.devices.capabilities import ADDITIONAL_VIPS, ALL_CAPABILITIES

CAPABILITIES = replace(
    ALL_CAPABILITIES, options=tuple(one for one in ALL_CAPABILITIES.options if one != ADDITIONAL_VIPS)
)
