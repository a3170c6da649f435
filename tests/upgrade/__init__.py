"""The last release and this version in one installation, as real processes: see :mod:`tests.upgrade.test_upgrade`."""
