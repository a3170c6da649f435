"""LBaaS v2, as Neutron served it until Stein: another view of the load balancers of Octavia's API."""
