"""The people who call, as a gateway's headers say who they are."""

from typing import NamedTuple

PROJECT, OTHER = "proj-a", "proj-b"


class Persona(NamedTuple):
    """Somebody in a project with roles."""

    name: str
    project_id: str = ""
    roles: str = ""

    @property
    def headers(self) -> dict[str, str]:
        """What a gateway says of them; nothing of somebody who is not logged in."""
        if not self.name:
            return {}
        headers = {"X-User-Id": self.name, "X-Roles": self.roles}
        return headers | ({"X-Project-Id": self.project_id} if self.project_id else {})

    def __str__(self) -> str:
        return self.name or "anonymous"


ANONYMOUS = Persona("")
STRANGER = Persona("stranger", OTHER, "member,reader")
READER = Persona("reader", PROJECT, "reader")
MEMBER = Persona("member", PROJECT, "member,reader")
PROJECT_ADMIN = Persona("project-admin", PROJECT, "manager,member,reader")
ADMIN = Persona("admin", "operations", "admin,manager,member,reader")
AGENT = Persona("agent", "operations", "evenkeel_agent")
OCTAVIA_OBSERVER = Persona("octavia-observer", PROJECT, "load-balancer_observer")
OCTAVIA_MEMBER = Persona("octavia-member", PROJECT, "load-balancer_member")
OCTAVIA_ADMIN = Persona("octavia-admin", "operations", "load-balancer_admin")
GLOBAL_OBSERVER = Persona("global-observer", "operations", "load-balancer_global_observer")
QUOTA_ADMIN = Persona("quota-admin", "operations", "load-balancer_quota_admin")
OPERATOR = Persona("operator", "operations", "evenkeel_operator")
SYSTEM_ADMIN = Persona("system-admin", "", "admin")
DOMAIN_READER = Persona("domain-reader", "", "reader,member")

EVERYBODY = (
    ANONYMOUS,
    STRANGER,
    READER,
    MEMBER,
    PROJECT_ADMIN,
    ADMIN,
    AGENT,
    OCTAVIA_OBSERVER,
    OCTAVIA_MEMBER,
    OCTAVIA_ADMIN,
    GLOBAL_OBSERVER,
    QUOTA_ADMIN,
    OPERATOR,
    SYSTEM_ADMIN,
    DOMAIN_READER,
)
