"""The APIs in Neutron's style: LBaaS v2 and v1, and what their clients ask of Neutron, below ``/neutron``."""
