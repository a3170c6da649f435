"""Checks run beside each other, and each failure is named."""

import os
import sys

from tests.tiers.checks import CHECKS, COLLECTION, checks_beside, start_all, wait_for

PRINT = (sys.executable, "-c", "import sys; print('a line'); sys.exit(int(sys.argv[1]))")


def test_checks_that_fail_or_cannot_start_have_a_code_and_their_output() -> None:
    running = start_all(os.environ, {"good": (*PRINT, "0"), "bad": (*PRINT, "3"), "missing": ("/nowhere",)})
    good, bad, missing = wait_for(running)
    assert (good.name, good.exit_code) == ("good", 0)
    assert (bad.name, bad.exit_code, bad.end) == ("bad", 3, "a line")
    assert missing.exit_code == 127 and "/nowhere" in missing.end


def test_a_run_with_one_tier_has_no_collection_but_the_tiers() -> None:
    assert set(checks_beside(2)) == set(CHECKS)
    assert set(CHECKS) - set(checks_beside(1)) == {COLLECTION}
