"""The APIs in Neutron's style below ``/neutron``: LBaaS v2 and v1, and Neutron resources that their clients request."""
