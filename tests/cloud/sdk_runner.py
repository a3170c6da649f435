"""Run by the interpreter of a stranger's environment: openstacksdk's functional tests of load balancing.

The last line of stdout is a JSON object: ``ran``, and for each test that did not pass the end of its traceback.
"""

import importlib
import json
import sys
import time
import types
import unittest

POLL_SECONDS = 0.05
MODULE = "openstack.tests.functional.load_balancer.v2.test_load_balancer"


def impatient() -> None:
    """The client looks every two seconds whether what it waits for is there."""
    from openstack import utils

    real = time.sleep
    names = {name: getattr(time, name) for name in dir(time) if not name.startswith("__")}
    utils.time = types.SimpleNamespace(**names | {"sleep": lambda seconds: real(min(seconds, POLL_SECONDS))})


def main() -> None:
    impatient()
    suite = unittest.defaultTestLoader.loadTestsFromModule(importlib.import_module(MODULE))
    result = unittest.TextTestRunner(stream=sys.stderr, verbosity=2).run(suite)
    failed = {test.id().rpartition(".")[2]: text[-2500:] for test, text in [*result.failures, *result.errors]}
    skipped = {test.id().rpartition(".")[2]: reason for test, reason in result.skipped}
    print(json.dumps({"ran": result.testsRun, "failed": failed, "skipped": skipped}))


if __name__ == "__main__":
    main()
