"""Effects of operators' acts, in words: the same in the API's document, in ``evenkeel … --help`` and in the
dashboard. The first clause of each is its summary.
"""

import re
from collections.abc import Mapping

OPERATOR_ACTION_EFFECTS: Mapping[str, str] = {
    "agent_drain": "Hand an agent's shards over to other agents; it gets none until it is undrained. Traffic goes on.",
    "agent_undrain": "Put a drained agent back into service; its shards come home.",
    "agent_failback": "Hand shards back to their home agent; needed where the environment's failback is manual.",
    "agent_force_down": "Declare an agent's host dead, so that its shards move at once, or revoke that. Load balancers"
    " that are bound to their host (reschedule mode relocate) are rebuilt on another one: the host must really be dead,"
    " or two hosts answer for the same addresses.",
    "agent_rebind": "Make another agent of the group the home of all shards of an agent, permanently; they move there"
    " one by one. Load balancers that are bound to their host (modes relocate and never) are rebuilt there once the"
    " agent that serves them is gone.",
    "agent_delete": "Delete a stopped agent; refused while it is alive, or home to load balancers that get no other"
    " home. Load balancers that are bound to their host (modes relocate and never) are rebuilt at their new home.",
    "shard_rebind": "Make another agent of its device group the home of a shard, permanently; it moves there as at a"
    " failback. Load balancers that are bound to their host (modes relocate and never) are rebuilt there once the agent"
    " that serves them is gone.",
    "environment_resume": "Close an environment's circuit breaker: agents that are silent until now count as lost, and"
    " their shards move to others. Repeatable.",
    "environment_create": "Create an environment; tenants name it as their provider.",
    "environment_update": "Change an environment; what is not given stays.",
    "environment_delete": "Delete an environment; refused while it has agents or load balancers.",
    "database_new_history": "State that the database was restored, or has lost changes: every agent checks everything"
    " that it serves.",
    "database_accept_history": "Accept a history that agents saw and this database never had: this is the right"
    " database, and objects that it does not contain may be removed from devices again, after the grace time.",
    "orphan_delete": "Remove a load balancer that devices hold and the database does not contain, at once: its clients"
    " lose it. The agent of its shard must have found it.",
    "loadbalancer_failover": "Apply a load balancer again, by another agent if there is one; traffic goes on.",
    "loadbalancer_import": "Release a held load balancer to its devices, which answer for its address from then on; the"
    " other system must have stopped.",
    "listener_set_irules": "Attach exactly these iRules of operators to a listener's virtual servers, in this order;"
    " none detaches all.",
    "shard_adopt": "Take over the partition that another program made for a tenant on its devices, or give it back: it"
    " is marked as ours, and objects that are named as ours would be are changed in place by the next pass.",
    "move_create": "Move a load balancer, or all of a project in an environment, to another device group: the new"
    " devices get everything and confirm it; then the old ones stop, the new ones serve, and the old ones remove it.",
    "move_finish": "End the step of a move that waits: its traffic is routed to the new devices, or the devices that do"
    " not confirm are off.",
    "move_back": "Let a move go back: the former devices serve the load balancer again.",
    "subnet_create": "Create an address pool, from which VIPs are allocated.",
    "subnet_update": "Set the addresses that devices may have in an address pool.",
    "subnet_delete": "Delete an address pool; refused while a load balancer uses it.",
    "network_create": "Declare a network of the built-in network service, to which devices may be attached.",
    "network_update": "Change a declared network; load balancers of devices attached to it follow.",
    "network_delete": "Delete a declared network; refused while a device is attached to it.",
    "certificate_create": "Add a certificate with its key, CA certificates or a revocation list to the controllers' key"
    " manager; with names it is requested from the certificate authority. A replaced one reaches devices within seconds"
    " after it is read again.",
    "certificate_delete": "Delete a certificate from the controllers' key manager, even if it is referred to: devices"
    " keep the last content read.",
    "reference_refresh": "Read references of listeners and pools again now, instead of after certificate_refresh"
    " seconds; a changed certificate goes to the devices.",
}
"""{name of an act, ``<kind of object>_<what is done to the object>``: its effect in words}."""


def operator_action_summary(act: str) -> str:
    """Return the summary of an operator's act: the first clause of its effect. ``act``: a key of
    :data:`OPERATOR_ACTION_EFFECTS`.
    """
    return first_clause(OPERATOR_ACTION_EFFECTS[act])


_CLAUSE_END = re.compile(r"[.;:](?=\s|$)")


def first_clause(text: str) -> str:
    """Return the text up to the end of its first clause (before ``.``, ``;`` or ``:``), on one line."""
    line = " ".join(text.split())
    end = _CLAUSE_END.search(line)
    return line[: end.start()] if end else line
