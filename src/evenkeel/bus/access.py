"""Authorization of messages when each agent has its own user at the broker.

The broker validates the user of a message (its property ``user_id``, which it compares with the connection's user) and
restricts agents to their own queues. This module maps users to agents: the user's name is the agent's id, which is
derived from environment, group and host, so no look-up is necessary.
"""

from collections.abc import Callable

from evenkeel.core.kit.names import derived_agent_id
from evenkeel.core.kit.values import Value
from evenkeel.core.protocol.messages import AnyMessage, Register

NOT_AUTHORISED = "not_authorised"
"""Code of the refusal."""

Refusal = Callable[[str | None, AnyMessage], str]
"""Returns why a user, or a message without a user, may not send a message; empty if it may."""


class AgentAccess(Value):
    """An agent with its own user at the broker: it may send calls and consume its own queue."""

    user: str


class ControllerAccess(Value):
    """Access check of controllers for received messages."""

    refusal: Refusal


def impersonation_refusal(user: str | None, message: AnyMessage) -> str:
    """Return why a broker's user may not send a message; empty if it may. Agents may only send in their own name, and
    register for their own group and host.
    """
    agent_id = getattr(message, "agent_id", "")
    # A client may leave user_id out; the broker validates it only if it is present.
    if not user:
        return "agents are authenticated: this message has no user validated by the message broker"
    if user != agent_id:
        return f"user {user} of the message broker is not agent {agent_id or 'without an id'}"
    if isinstance(message, Register):
        own = derived_agent_id(message.environment, message.group_number, message.host)
        if own != agent_id:
            return f"the place of agent {agent_id} is another one: that of {message.host} belongs to agent {own}"
    return ""
