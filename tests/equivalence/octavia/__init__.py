"""Our HAProxy beside one with the configuration that Octavia's amphora has for the same load balancer.

    python -m tests.equivalence.octavia --definitions 60

Octavia renders in a process of its own, in an environment of its own (:mod:`tests.compat.octavia.stock`).
"""
