"""What files can hold: anything but more than one address of a load balancer."""

from msgspec.structs import replace

from evenkeel.core.devices.capabilities import ADDITIONAL_VIPS, EVERYTHING

CAPABILITIES = replace(EVERYTHING, options=tuple(one for one in EVERYTHING.options if one != ADDITIONAL_VIPS))
