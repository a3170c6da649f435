"""Who may say what, where agents have users of their own on the broker.

The broker vouches for the user of a message (its property ``user_id``, which it compares with the connection's user)
and keeps agents away from each other's queues. Which agent a user is, is decided here: the user is called as the agent
is, and an agent as its place, so nothing has to be looked up.
"""

from collections.abc import Callable

from evenkeel.core.messages import AnyMessage, Register
from evenkeel.core.names import derived_agent_id
from evenkeel.core.values import Value

NOT_AUTHORISED = "not_authorised"
"""The code of the refusal."""

Refusal = Callable[[str | None, AnyMessage], str]
"""Why a user, or a message without one, may not say this; empty: it may."""


class AgentAccess(Value):
    """What an agent may do on the broker whose user is its own: call, and take what is for it."""

    user: str


class ControllerAccess(Value):
    """Of controllers: whom they listen to."""

    refusal: Refusal


def refusal_of(user: str | None, message: AnyMessage) -> str:
    """Agents speak for themselves only, and register at their own place only."""
    agent_id = getattr(message, "agent_id", "")
    if not user:
        return "agents are authenticated here: the message broker vouches for no user of this message"
    if user != agent_id:
        return f"user {user} of the message broker is not agent {agent_id or 'without an id'}"
    if isinstance(message, Register):
        own = derived_agent_id(message.environment, message.group_number, message.host)
        if own != agent_id:
            return f"the place of agent {agent_id} is another one: that of {message.host} belongs to agent {own}"
    return ""
