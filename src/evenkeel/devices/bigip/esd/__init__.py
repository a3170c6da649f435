"""Enhanced service definitions (ESD): named sets of the operator's objects in /Common, and their presence on the
devices.

Even Keel only reads these objects.
"""
