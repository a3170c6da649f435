"""``evenkeel-controller``: one process, or a parent with ``workers`` of them. The process itself is in
:mod:`evenkeel.cmd.controllers.controller_process`; a parent does without its libraries.
"""

import asyncio
import sys

from evenkeel.cmd.configuration.loading import load
from evenkeel.cmd.configuration.refusal import print_refusal
from evenkeel.cmd.configuration.sections import CONTROLLER
from evenkeel.cmd.process.logs import set_up_logs
from evenkeel.cmd.process.reloading import ignore_hangup
from evenkeel.cmd.process.start_log import log_start

NAME = "evenkeel-controller"
DESCRIPTION = "Serve the API, and tell agents what to configure. Several controllers share a database."


def main() -> int:
    """Run ``evenkeel-controller`` until stopped. Exit codes: 0 stopped, 2 configuration refused; that of the
    first worker if it ends before it serves.
    """
    ignore_hangup()
    try:
        conf = load(NAME, sys.argv[1:], groups=CONTROLLER, description=DESCRIPTION)
    except ValueError as error:
        return print_refusal(NAME, error)
    set_up_logs(conf, name="controller")
    log_start(conf, CONTROLLER)
    try:
        if conf.workers > 1:
            from evenkeel.cmd.controllers.workers.parent import supervise_workers

            return asyncio.run(supervise_workers(NAME, sys.argv[1:], conf))
        from evenkeel.cmd.controllers.controller_process import run_controller

        run_controller(NAME, sys.argv[1:], conf)
    except ValueError as error:
        return print_refusal(NAME, error, conf)
    return 0


if __name__ == "__main__":
    sys.exit(main())
