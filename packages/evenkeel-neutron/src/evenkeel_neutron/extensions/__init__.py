"""API extensions, which Neutron loads by file name: a module ``lbaasv2`` has a class ``Lbaasv2``."""
