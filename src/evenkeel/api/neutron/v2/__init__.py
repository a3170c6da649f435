"""LBaaS v2, as Neutron served it until Stein: another view of the same load balancers as Octavia's API shows."""
