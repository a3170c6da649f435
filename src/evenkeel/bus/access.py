"""Authorization of messages when each agent has its own user at the broker.

The broker validates the user of a message (its property ``user_id``, which it compares with the connection's user) and
restricts agents to their own queues. This module maps users to agents: the user's name is the agent's id, which is
derived from environment, group and host, so no look-up is necessary.
"""

from collections.abc import Callable

from evenkeel.core.kit.names import default_agent_id
from evenkeel.core.kit.values import Value
from evenkeel.core.protocol.messages import AnyMessage, Register

NOT_AUTHORISED = "not_authorised"
"""Code of the :class:`Refused` that answers a call which the broker's user may not send."""

Refusal = Callable[[str | None, AnyMessage], str]
"""Function that returns why a user of the broker (None: the message names no user) may not send a message; empty if the
message is allowed.
"""


class AgentAccess(Value):
    """Access of an agent with its own user at the broker: its bus may send calls to callback queues and
    consume the agent's own queue.
    """

    user: str


class ControllerAccess(Value):
    """Access check for messages received by controllers: a message for which ``refusal`` returns a reason is
    not handled, and a call is answered with :class:`Refused`.
    """

    refusal: Refusal


def impersonation_refusal(user: str | None, message: AnyMessage) -> str:
    """Return why the broker's user ``user`` may not send ``message`` (human-readable); empty if the user may.
    A user may only send messages with the user's own agent id, and register only for the environment,
    group and host from which that id is derived. A message without a user is refused.
    """
    agent_id = getattr(message, "agent_id", "")
    # A client may leave user_id out; the broker validates it only if it is present.
    if not user:
        return "agents are authenticated: this message has no user validated by the message broker"
    if user != agent_id:
        return f"user {user} of the message broker is not agent {agent_id or 'without an id'}"
    if isinstance(message, Register):
        own = default_agent_id(message.environment, message.group_number, message.host)
        if own != agent_id:
            return f"the place of agent {agent_id} is another one: that of {message.host} belongs to agent {own}"
    return ""
