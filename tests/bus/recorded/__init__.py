"""Messages as version 0.1.0 sends and reads them: see :mod:`tests.bus.test_versions`."""
