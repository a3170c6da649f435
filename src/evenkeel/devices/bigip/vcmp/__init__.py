"""Devices that are guests of vCMP hosts: a guest has only VLANs that its host gives it.

A VLAN is made at the host, on the host's interfaces, and added to the guest; it appears in the guest's
/Common. From there it is removed, because its tag can be in one partition only: the tenant's, where the
ordinary pass makes it.

Users are not counted. A host's VLAN with Even Keel's mark is taken back from a guest that has no VLAN with
its tag in a tenant's partition, or in /Common with a network's mark, and deleted when no guest of the host
has it.
"""
