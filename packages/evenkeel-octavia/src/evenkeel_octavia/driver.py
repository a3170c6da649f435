"""Provider driver of Octavia's API: checks each request with a controller, and hands over nothing.

Octavia calls it inside its open transaction and builds a new instance for each write, so an instance holds nothing, and
connections are kept by :mod:`evenkeel_octavia.controllers`. The provider agent later reads what was committed.

Deletions are not checked: there is nothing to refuse, and Octavia's database keeps them until the agent has done them.
"""

import logging
import time
from typing import Any

from octavia_lib.api.drivers import exceptions, provider_base
from oslo_config import cfg

from evenkeel_octavia import controllers, convert, options, requested
from evenkeel_octavia.settings import MisconfiguredError

LOG = logging.getLogger(__name__)
_NO_CREDENTIAL_TEXT = "The load balancing service refuses Octavia's credential."
_NOT_REACHABLE_TEXT = "The load balancing service does not answer; try again later."


class EvenKeelDriver(provider_base.ProviderDriver):  # type: ignore[misc]
    """Driver of each provider in ``[evenkeel] providers``; Octavia sets ``name`` to the provider's."""

    name = "evenkeel"

    # -- load balancers

    def create_vip_port(
        self, loadbalancer_id: str, project_id: str, vip_dictionary: Any, additional_vip_dicts: Any = None
    ) -> Any:
        """Have a controller create the VIP's port, and return Octavia's dictionaries of the VIPs, completed
        by it.

        A repetition creates no second port. The port of a load balancer that Octavia does not commit is
        deleted later. Raises octavia-lib's NotImplementedError unless ``vip_ports`` is set, and if the tenant
        has named a port; other exceptions of octavia-lib if the controllers refuse or do not answer.
        """
        if not self._makes_vip_ports or vip_dictionary.get("vip_port_id"):
            raise exceptions.NotImplementedError(
                user_fault_string="VIP ports are created by Octavia.",
                operator_fault_string="VIP ports are created by Octavia.",
            )
        wanted = convert.vip_port_body(project_id, vip_dictionary, additional_vip_dicts or ())
        body = {**wanted, "provider": self._environment(), "loadbalancer_id": loadbalancer_id}
        seconds = float(options.register_options(cfg.CONF).vip_port_timeout)
        return convert.complete_vips(
            vip_dictionary, self._call_controllers("POST", "/vip-ports", body, seconds=seconds)["vip_port"]
        )

    def loadbalancer_create(self, loadbalancer: Any) -> None:
        body = requested.add_requested_policies(
            _body_with_children("loadbalancer", loadbalancer), requested.current_request_body()
        )
        try:
            self._check_object("create", "loadbalancer", body)
        except exceptions.UnsupportedOptionError:
            # Octavia rolls back now: the agent would find the port only after some time
            self._give_port_back(str(body["id"]))
            raise

    def loadbalancer_delete(self, loadbalancer: Any, cascade: bool = False) -> None:
        """Accept the deletion."""

    def loadbalancer_failover(self, loadbalancer_id: str) -> None:
        self._check_object("failover", "loadbalancer", {})

    def loadbalancer_failover_with_flavor(self, loadbalancer_id: str, flavor_id: str) -> None:
        """Refuse to change the flavor of a load balancer: always raises octavia-lib's NotImplementedError."""
        raise exceptions.NotImplementedError(
            user_fault_string="The flavor of a load balancer can't be changed by a failover.",
            operator_fault_string="failover with a flavor is not implemented",
        )

    def loadbalancer_update(self, old_loadbalancer: Any, new_loadbalancer: Any) -> None:
        self._check_change("loadbalancer", old_loadbalancer, new_loadbalancer)

    # -- listeners

    def listener_create(self, listener: Any) -> None:
        values = listener.to_dict(recurse=True)
        self._check_new("listener", values, pool_protocol=convert.pool_protocol(values))

    def listener_delete(self, listener: Any) -> None:
        """Accept the deletion."""

    def listener_update(self, old_listener: Any, new_listener: Any) -> None:
        self._check_change("listener", old_listener, new_listener)

    # -- pools

    def pool_create(self, pool: Any) -> None:
        self._check_new("pool", pool.to_dict(recurse=True))

    def pool_delete(self, pool: Any) -> None:
        """Accept the deletion."""

    def pool_update(self, old_pool: Any, new_pool: Any) -> None:
        self._check_change("pool", old_pool, new_pool)

    # -- members

    def member_create(self, member: Any) -> None:
        self._check_new("member", member.to_dict(recurse=True))

    def member_delete(self, member: Any) -> None:
        """Accept the deletion."""

    def member_update(self, old_member: Any, new_member: Any) -> None:
        self._check_change("member", old_member, new_member)

    def member_batch_update(self, pool_id: str, members: Any) -> None:
        body = {"members": [_body_with_children("member", each) for each in members]}
        self._check_object("update", "members", body, pool_id=pool_id)

    # -- health monitors

    def health_monitor_create(self, healthmonitor: Any) -> None:
        self._check_new("healthmonitor", healthmonitor.to_dict(recurse=True))

    def health_monitor_delete(self, healthmonitor: Any) -> None:
        """Accept the deletion."""

    def health_monitor_update(self, old_healthmonitor: Any, new_healthmonitor: Any) -> None:
        self._check_change("healthmonitor", old_healthmonitor, new_healthmonitor)

    # -- L7 policies

    def l7policy_create(self, l7policy: Any) -> None:
        self._check_new("l7policy", l7policy.to_dict(recurse=True))

    def l7policy_delete(self, l7policy: Any) -> None:
        """Accept the deletion."""

    def l7policy_update(self, old_l7policy: Any, new_l7policy: Any) -> None:
        self._check_change("l7policy", old_l7policy, new_l7policy)

    # -- L7 rules

    def l7rule_create(self, l7rule: Any) -> None:
        self._check_new("l7rule", l7rule.to_dict(recurse=True))

    def l7rule_delete(self, l7rule: Any) -> None:
        """Accept the deletion."""

    def l7rule_update(self, old_l7rule: Any, new_l7rule: Any) -> None:
        self._check_change("l7rule", old_l7rule, new_l7rule)

    # -- flavors and availability zones

    def get_supported_flavor_metadata(self) -> dict[str, str]:
        """Return ``{key: description}`` of the keys that flavors may have. Raises DriverError if no
        controller answers.
        """
        return self._read_metadata_keys("flavor")

    def validate_flavor(self, flavor_metadata: Any) -> None:
        self._call_controllers("POST", "/check-flavor", {"provider": self._environment(), "metadata": flavor_metadata})

    def get_supported_availability_zone_metadata(self) -> dict[str, str]:
        """Return ``{key: description}`` of the keys that availability zones may have. Raises DriverError if
        no controller answers.
        """
        return self._read_metadata_keys("availability-zone")

    def validate_availability_zone(self, availability_zone_metadata: Any) -> None:
        body = {"provider": self._environment(), "metadata": availability_zone_metadata}
        self._call_controllers("POST", "/check-availability-zone", body)

    # -- requests

    @property
    def _makes_vip_ports(self) -> bool:
        return bool(options.register_options(cfg.CONF).vip_ports == options.BY_EVENKEEL)

    def _give_port_back(self, loadbalancer_id: str) -> None:
        if not self._makes_vip_ports:
            return
        query: dict[str, object] = {"provider": self._environment(), "snapshot": f"{time.time():.6f}"}
        try:
            self._call_controllers("DELETE", f"/loadbalancers/{loadbalancer_id}", query=query)
        except (exceptions.DriverError, exceptions.Conflict, exceptions.UnsupportedOptionError):
            LOG.info("the VIP port of load balancer %s is given back by the provider agent", loadbalancer_id)

    def _read_metadata_keys(self, kind: str) -> dict[str, str]:
        answer = self._call_controllers("GET", f"/{kind}-metadata", query={"provider": self._environment()}) or {}
        return {str(each["name"]): str(each["description"]) for each in answer.get("metadata", ())}

    def _check_new(self, kind: str, values: convert.RequestBody, **context: str | None) -> None:
        self._check_object(
            "create", kind, convert.object_body(kind, values), **convert.parent_ids(kind, values), **context
        )

    def _check_change(self, kind: str, old: Any, new: Any) -> None:
        before, changes = old.to_dict(recurse=True), new.to_dict(recurse=True)
        above = convert.parent_ids(kind, {**before, **changes})
        self._check_object("update", kind, convert.changed_body(kind, before, changes), **above)

    def _check_object(self, operation: str, kind: str, body: convert.RequestBody, **context: str | None) -> None:
        environment = self._environment()
        if kind == "loadbalancer" and operation != "failover":
            body = {**body, "provider": environment}
        known = {name: value for name, value in context.items() if value is not None}
        request = {"provider": environment, "operation": operation, "kind": kind, "object": body, **known}
        self._call_controllers("POST", "/check", request)

    def _environment(self) -> str:
        try:
            environments = options.parse_environments(cfg.CONF)
        except MisconfiguredError as error:
            raise _driver_error(_NOT_REACHABLE_TEXT, str(error)) from error
        environment = environments.get(self.name)
        if environment is None:
            raise _driver_error(
                f"The provider '{self.name}' has no environment.",
                f"[evenkeel] providers does not have '{self.name}'; it has {sorted(environments)}",
            )
        return environment

    def _call_controllers(
        self,
        method: str,
        path: str,
        body: object = None,
        query: dict[str, object] | None = None,
        seconds: float | None = None,
    ) -> Any:
        """Send a request to the controllers and return the decoded response. ``seconds``: time limit; None:
        that of checks.

        Raises octavia-lib's Conflict or UnsupportedOptionError if a controller refuses for that reason, else
        DriverError.
        """
        try:
            client = controllers.shared_client(options.parse_endpoint(cfg.CONF))
            limit = options.register_options(cfg.CONF).check_timeout if seconds is None else seconds
            return client.call(method, path, seconds=limit, body=body, query=query)
        except controllers.RequestRefused as refusal:
            raise _exception_for_refusal(refusal) from refusal
        except (controllers.ControllerError, MisconfiguredError, OSError) as error:
            raise _driver_error(_NOT_REACHABLE_TEXT, str(error)) from error


def _body_with_children(kind: str, provider_object: Any) -> convert.RequestBody:
    return convert.object_body(kind, provider_object.to_dict(recurse=True))


def _exception_for_refusal(refusal: controllers.RequestRefused) -> Exception:
    """Return Octavia's exception for a controller's refusal, with the controller's text."""
    words = {"user_fault_string": refusal.message, "operator_fault_string": refusal.message}
    if refusal.status in (401, 403):
        return _driver_error(_NO_CREDENTIAL_TEXT, refusal.message)
    if refusal.status == 409:
        return exceptions.Conflict(**words)  # type: ignore[no-any-return]
    if refusal.status in (400, 501):
        return exceptions.UnsupportedOptionError(**words)  # type: ignore[no-any-return]
    return exceptions.DriverError(**words)  # type: ignore[no-any-return]


def _driver_error(user: str, operator: str) -> Exception:
    LOG.error("Even Keel's driver: %s", operator)
    return exceptions.DriverError(user_fault_string=user, operator_fault_string=operator)  # type: ignore[no-any-return]
