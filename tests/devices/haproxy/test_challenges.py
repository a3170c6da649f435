"""Challenges of a certificate authority through real HAProxys."""

import pytest

from tests.devices.challenge_behaviour import ChallengeBehaviour
from tests.devices.haproxy.rig import HaproxyRig
from tests.devices.haproxy.test_traffic import HaproxySite


class TestHaproxyChallenges(ChallengeBehaviour):
    @pytest.fixture
    def site(self, rig: HaproxyRig) -> HaproxySite:
        return HaproxySite(rig)
