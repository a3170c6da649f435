"""What runs is what was asked for: a device after any history of changes is compared with one that is configured from
nothing.

    python -m tests.equivalence --histories 200          # of a HAProxy; EVENKEEL_TEST_HAPROXY names another binary
    python -m tests.equivalence --seed 17 --shrink       # one of them, then the shortest part of it that fails

- :mod:`.values`: values of every attribute, from the model and a device type's table of capabilities
- :mod:`.definitions`: service definitions as trees whose parts are added, changed and removed
- :mod:`.history`: random histories
- :mod:`.websites`, :mod:`.site`: who answers behind a load balancer, at which addresses
- :mod:`.host`, :mod:`.daemon`: the real ``evenkeel-haproxyd``, killed where a history says so
- :mod:`.runtime`, :mod:`.requests`: everything that can be observed
- :mod:`.trial`: one history, and the verdict
- :mod:`.faults`: faults that are planted, and that the trials must find
"""
