"""Runtime command, a deviation that a command repairs, and the error for changes that only a reload can make."""

from evenkeel.core.kit.values import Value

# A shorter line of a payload may occur in an answer by chance.
REPEATED_CHARS_MIN = 8


class RuntimeCommand(Value):
    """One runtime command, and in ``expects`` the text that its answer contains on success (empty: the answer
    is empty).

    ``payload``: lines sent with the command, which may contain a private key.
    """

    text: str
    payload: str = ""
    expects: str = ""

    def loggable_answer(self, answer: str) -> str:
        """Return the answer for logs; a note in its place if the answer repeats a line of the payload, which
        may be secret.
        """
        repeats = any(line in answer for line in self.payload.splitlines() if len(line) >= REPEATED_CHARS_MIN)
        return "(not shown: it repeats the payload)" if repeats else answer.strip()

    def __repr__(self) -> str:
        return f"RuntimeCommand(text={self.text!r}, payload=<{len(self.payload)}>, expects={self.expects!r})"

    def has_succeeded(self, answer: str) -> bool:
        reply = answer.strip()
        return self.expects in reply if self.expects else not reply


class NeedsReload(Exception):
    """A change that only a reload can apply; the text gives the reason, for logs.

    ``load_balancer_id``: the load balancer that requires the reload; empty: no single one.
    """

    def __init__(self, reason: str, load_balancer_id: str = "") -> None:
        super().__init__(reason)
        self.load_balancer_id = load_balancer_id


class DriftFinding(Value):
    """One deviation of the running HAProxy from its configuration.

    ``text``: for operators, without the values that were set. ``command``: undoes the deviation.
    """

    load_balancer_id: str
    text: str
    command: RuntimeCommand
