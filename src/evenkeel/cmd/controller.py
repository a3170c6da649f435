"""``evenkeel-controller``: one process, or a parent with ``workers`` of them. The process itself is in
:mod:`evenkeel.cmd.controllers.controller_process`; a parent does without its libraries.
"""

import asyncio
import sys

from evenkeel.cmd.configuration.loading import load_configuration
from evenkeel.cmd.configuration.refusal import print_refusal
from evenkeel.cmd.configuration.sections import CONTROLLER_OPTION_GROUPS
from evenkeel.cmd.process.logs import set_up_logs
from evenkeel.cmd.process.reloading import ignore_hangup
from evenkeel.cmd.process.start_log import log_start

PROCESS_NAME = "evenkeel-controller"
DESCRIPTION = "Serve the API, and tell agents what to configure. Several controllers share a database."


def main() -> int:
    """Run ``evenkeel-controller`` until stopped. Exit codes: 0 stopped, 2 configuration refused; that of the
    first worker if it ends before it serves.
    """
    ignore_hangup()
    try:
        conf = load_configuration(PROCESS_NAME, sys.argv[1:], groups=CONTROLLER_OPTION_GROUPS, description=DESCRIPTION)
    except ValueError as error:
        return print_refusal(PROCESS_NAME, error)
    set_up_logs(conf, name="controller")
    log_start(conf, CONTROLLER_OPTION_GROUPS)
    try:
        if conf.workers > 1:
            from evenkeel.cmd.controllers.workers.parent import supervise_workers

            return asyncio.run(supervise_workers(PROCESS_NAME, sys.argv[1:], conf))
        from evenkeel.cmd.controllers.controller_process import run_controller

        run_controller(PROCESS_NAME, sys.argv[1:], conf)
    except ValueError as error:
        return print_refusal(PROCESS_NAME, error, conf)
    return 0


if __name__ == "__main__":
    sys.exit(main())
