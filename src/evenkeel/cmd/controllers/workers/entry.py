"""A worker process: started by its parent with the file descriptors of the API's socket and of its
connections to the parent. Not a command for operators.
"""

import sys
from socket import socket

import structlog

from evenkeel.cmd.configuration.loading import load_configuration
from evenkeel.cmd.configuration.refusal import print_refusal
from evenkeel.cmd.configuration.sections import CONTROLLER_OPTION_GROUPS
from evenkeel.cmd.controllers.controller_process import run_controller
from evenkeel.cmd.controllers.process_context import ProcessContext
from evenkeel.cmd.controllers.workers.connection import ParentConnection
from evenkeel.cmd.controllers.workers.worker import WorkerDescriptors
from evenkeel.cmd.process.logs import set_up_logs
from evenkeel.cmd.process.reloading import ignore_hangup
from evenkeel.cmd.process.service_manager import ServiceManager


def main() -> int:
    """Run a worker until stopped; returns the exit code, 2 for a refused configuration. It reads the
    configuration files itself, at its own start.
    """
    ignore_hangup()
    number, beat_seconds, *descriptors = sys.argv[1:6]
    inherited = WorkerDescriptors(*map(int, descriptors))
    name, *arguments = sys.argv[6:]
    try:
        conf = load_configuration(name, arguments, groups=CONTROLLER_OPTION_GROUPS)
    except ValueError as error:
        return print_refusal(name, error)
    set_up_logs(conf, name="controller")
    structlog.contextvars.bind_contextvars(worker=int(number))
    context = ProcessContext(
        listening=socket(fileno=inherited.api),
        service_manager=ServiceManager(
            {}, parent=socket(fileno=inherited.notices), watchdog_seconds=float(beat_seconds)
        ),
        worker=int(number),
        parent=ParentConnection(socket(fileno=inherited.connection), int(number)),
    )
    try:
        run_controller(name, arguments, conf, context)
    except ValueError as error:
        return print_refusal(name, error, conf)
    return 0


if __name__ == "__main__":
    sys.exit(main())
