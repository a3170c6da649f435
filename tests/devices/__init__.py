import pytest

# before a test of another folder imports one of them
pytest.register_assert_rewrite(
    "tests.devices.contract",
    "tests.devices.l7_behaviour",
    "tests.devices.service_behaviour",
    "tests.devices.tls_behaviour",
)
