"""Prometheus metrics of all processes, and the server of ``/metrics``. One module declares the metrics of one
part; the code of that part changes them.

No label has values that tenants choose, and none grows with the number of load balancers (devices, agents,
environments, routes and kinds are bounded), except the id in the metrics of single load balancers, whose
number an option limits.
"""
