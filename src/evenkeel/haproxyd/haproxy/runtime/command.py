"""One command to the running HAProxy, what it is to undo, and that there is none that would do."""

from evenkeel.core.values import Value

REPEATED_CHARS_MIN = 8


class RuntimeCommand(Value):
    """One command, and what its answer holds if it did what it was to do (empty: it answers nothing). ``payload``: may
    hold a private key."""

    text: str
    payload: str = ""
    expects: str = ""

    def shown(self, answer: str) -> str:
        """An answer as it may be logged: not if it repeats what was sent with the command."""
        repeats = any(line in answer for line in self.payload.splitlines() if len(line) >= REPEATED_CHARS_MIN)
        return "(not shown: it repeats the payload)" if repeats else answer.strip()

    def __repr__(self) -> str:
        return f"RuntimeCommand(text={self.text!r}, payload=<{len(self.payload)}>, expects={self.expects!r})"

    def done(self, answer: str) -> bool:
        """Did HAProxy do it?"""
        said = answer.strip()
        return self.expects in said if self.expects else not said


class NeedsReload(Exception):
    """Only a reload will do. ``load_balancer_id``: because of that one; empty: of none alone."""

    def __init__(self, reason: str, load_balancer_id: str = "") -> None:
        super().__init__(reason)
        self.load_balancer_id = load_balancer_id


class Finding(Value):
    """One deviation. ``text``: for people, without values that somebody set. ``command``: what undoes it."""

    load_balancer_id: str
    text: str
    command: RuntimeCommand
