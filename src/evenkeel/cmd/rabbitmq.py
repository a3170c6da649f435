"""``evenkeel-rabbitmq``: prints the ``rabbitmqctl`` commands that give an agent a RabbitMQ user of its own.

It changes nothing itself and needs neither the broker nor its management plug-in: an administrator of the broker
reviews and runs the commands. They contain no passwords: ``rabbitmqctl`` reads them from its standard input.
"""

import argparse
import json
import re
import shlex
import sys
from collections.abc import Sequence

from evenkeel.bus.amqp.topology import DEAD_EXCHANGE, DEAD_QUEUE, calls_exchange
from evenkeel.bus.amqp.wills import SUFFIX
from evenkeel.core.kit.ids import SessionId
from evenkeel.core.kit.names import ENVIRONMENT_NAME_RULE, default_agent_id, is_environment_name
from evenkeel.core.protocol.messages import (
    agent_queue,
    callback_queue,
    keepalive_queue,
    presence_name,
    transient_keepalive_queue,
)

CONNECTIONS_MAX = 16
"""Maximum number of an agent's connections: it needs three; more for lost ones that the broker has not detected yet."""
CHANNELS_MAX = 64
QUEUES_MIN = 10
"""Minimum for ``max-queues``: the queues of one agent during a restart, and of its environment."""
QUEUES_MAX = 2000
"""Maximum number of queues in the virtual host: an agent needs three, and three more until its former process is
forgotten.
"""
PRESENCE_UNUSED_SECONDS = 60
"""Time after which a presence queue without a consumer is deleted; processes declare their queues with it
(``wills``).
"""
PRESENCE_MESSAGES_MAX = 10
PRESENCE_BYTES_MAX = 64 * 1024
DEAD_LETTER_BYTES_MAX = 256 * 1024**2


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``evenkeel-rabbitmq`` with the arguments ``argv`` (None: the process's). Exit codes: 0 done, 2
    usage.
    """
    parser = _argument_parser()
    options = parser.parse_args(argv)
    if not is_environment_name(options.environment):
        parser.error(f"--environment: {options.environment!r}: {ENVIRONMENT_NAME_RULE} are allowed")
    if options.max_queues < QUEUES_MIN:
        parser.error(f"--max-queues: {options.max_queues}: at least {QUEUES_MIN} are needed")
    for command in agent_user_commands(options.environment, options.group, options.host, vhost=options.vhost):
        print(shlex.join(("rabbitmqctl", *command)))
    for command in limit_commands(vhost=options.vhost, queues_max=options.max_queues):
        print(shlex.join(("rabbitmqctl", *command)))
    return 0


def _argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="evenkeel-rabbitmq", description="Users of agents on RabbitMQ.")
    commands = parser.add_subparsers(required=True, metavar="command")
    user = commands.add_parser("agent-user", help="print the commands that create or correct the user of one agent")
    user.add_argument("--environment", required=True, help="the agent's environment_prefix")
    user.add_argument("--group", type=int, default=1, help="its environment_group_number; default: %(default)s")
    user.add_argument("--host", required=True, help="its host")
    user.add_argument("--vhost", default="/", help="RabbitMQ's virtual host; default: %(default)s")
    user.add_argument(
        "--max-queues",
        type=int,
        default=QUEUES_MAX,
        help="most queues of the virtual host; an agent needs three, six while it is restarted; default: %(default)s",
    )
    return parser


def agent_user_commands(environment: str, group_number: int, host: str, *, vhost: str) -> tuple[tuple[str, ...], ...]:
    """Return the arguments of the ``rabbitmqctl`` commands that create or correct an agent's user."""
    user = default_agent_id(environment, group_number, host)
    limits = {"max-connections": CONNECTIONS_MAX, "max-channels": CHANNELS_MAX}
    return (
        ("add_user", user),
        # Without tags, which removes any that an existing user has.
        ("set_user_tags", user),
        ("set_permissions", "-p", vhost, user, *agent_permissions(environment, group_number, host)),
        ("set_user_limits", user, json.dumps(limits)),
    )


def limit_commands(*, vhost: str, queues_max: int = QUEUES_MAX) -> tuple[tuple[str, ...], ...]:
    """Return the arguments of the ``rabbitmqctl`` commands that limit what users may create in the virtual host.

    An agent chooses the names of its presence queues, and permissions limit neither their number nor their arguments;
    operator policies override arguments, and apply to existing queues, too.
    """
    presence = {
        "expires": PRESENCE_UNUSED_SECONDS * 1000,
        "max-length": PRESENCE_MESSAGES_MAX,
        "max-length-bytes": PRESENCE_BYTES_MAX,
    }
    policies = (
        ("evenkeel-presence", f"^{re.escape(presence_name(SessionId('')))}", presence),
        ("evenkeel-dead", f"^{re.escape(DEAD_QUEUE)}$", {"max-length-bytes": DEAD_LETTER_BYTES_MAX}),
    )
    return (
        *(
            ("set_operator_policy", "-p", vhost, "--apply-to", "queues", name, pattern, json.dumps(definition))
            for name, pattern, definition in policies
        ),
        ("set_vhost_limits", "-p", vhost, json.dumps({"max-queues": queues_max})),
    )


def agent_permissions(environment: str, group_number: int, host: str) -> tuple[str, str, str]:
    """Return an agent's permissions to configure, write and read, as regular expressions: only its own queue,
    the presence of its sessions, and calls to its environment's controllers. RabbitMQ requires write
    permission on the dead-letter exchange to declare a queue with one. Answers come by direct reply-to,
    which needs no permission and reaches only the caller.
    """
    presence = f"{re.escape(presence_name(SessionId('')))}[0-9a-f-]+"
    will = f"{presence}{re.escape(SUFFIX)}"
    own = (re.escape(agent_queue(environment, group_number, host)), presence, will)
    calls = (
        calls_exchange(queue(environment)) for queue in (callback_queue, keepalive_queue, transient_keepalive_queue)
    )
    written = (*map(re.escape, calls), re.escape(DEAD_EXCHANGE), will)
    return _union_pattern(own), _union_pattern(written), _union_pattern(own)


def _union_pattern(patterns: Sequence[str]) -> str:
    return f"^({'|'.join(patterns)})$"


if __name__ == "__main__":
    sys.exit(main())
