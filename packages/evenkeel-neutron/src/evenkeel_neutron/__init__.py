"""Neutron's service plugin of Even Keel: requests for load balancers are forwarded to the controllers."""

# Neutron searches the API extensions of a service plugin in the attribute ``extensions`` of its top package.
from evenkeel_neutron import extensions as extensions

__version__ = "0.1.0"
