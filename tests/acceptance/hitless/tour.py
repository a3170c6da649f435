"""Every kind of change that the API can make of a load balancer on HAProxy, in rounds."""

from typing import Any

from tests.acceptance.hitless.changing import Changing
from tests.acceptance.hitless.held import Held
from tests.acceptance.tenant import LBAAS

MS = 1000


class Tour:
    """Changes what carries the traffic, and what is beside it in the same partition.

    ``ports``: free ones of the load balancer's address; ``spare``: the port of a backend that is not a member yet.
    """

    def __init__(
        self,
        changing: Changing,
        *,
        provider: str,
        subnet_id: str,
        load_balancer_id: str,
        listener_id: str,
        pool_id: str,
        port: int,
        spare: int,
    ) -> None:
        self._changing = changing
        self._provider = provider
        self._subnet_id = subnet_id
        self._load_balancer_id = load_balancer_id
        self._listener_id = listener_id
        self._pool_id = pool_id
        self._port = port
        self._spare = spare

    async def round(self, number: int) -> None:
        """Each kind once. The values depend on ``number``, so that every change of every round is one."""
        await self._members(number)
        await self._listener(number)
        await self._pool(number)
        await self._monitor(number)
        await self._more_listeners()
        await self._more_load_balancers()
        await self._resize()

    async def _members(self, number: int) -> None:
        do, pool = self._changing, self._pool_id
        path = f"/pools/{pool}/members"
        body = {"member": {"address": "127.0.0.1", "protocol_port": self._spare}}
        id_ = await do.post("member added", path, body, lambda held, made: held.server(pool, made) is not None)
        for kind, fields in (
            ("member weight", {"weight": 2 + number}),
            ("member down", {"admin_state_up": False}),
            ("member up", {"admin_state_up": True}),
            ("member backup", {"backup": True}),
            ("member no backup", {"backup": False}),
        ):
            ((field, value),) = fields.items()
            name = {"admin_state_up": "admin_up"}.get(field, field)
            await do.put(
                kind,
                f"{path}/{id_}",
                {"member": fields},
                lambda held, name=name, value=value: getattr(held.server(pool, id_), name) == value,  # type: ignore[misc]
            )
        await do.delete("member removed", f"{path}/{id_}", lambda held: held.server(pool, id_) is None)
        await self._batches()

    async def _batches(self) -> None:
        """Whole sets of members, as Kubernetes' cloud controller puts them when nodes come and go."""
        do, path = self._changing, f"/pools/{self._pool_id}/members"
        known = (await do.tenant.surely("GET", LBAAS + path))["members"]
        nodes = [{"address": one["address"], "protocol_port": one["protocol_port"]} for one in known]
        node = {"address": "127.0.0.1", "protocol_port": self._spare}
        # health checks of a node's own port, until no request names it
        checked = {**node, "monitor_port": self._spare}

        def ports(held: Held) -> set[int]:
            return {server.port for server in held.servers(self._pool_id)}

        for kind, members in (
            ("a node more", [*nodes, node]),
            ("a node with its own health check", [*nodes, checked]),
            ("a node without one", [*nodes, node]),
            ("a node fewer", nodes),
        ):
            wanted = {int(one["protocol_port"]) for one in members}
            await do.put(kind, path, {"members": members}, lambda held, wanted=wanted: ports(held) == wanted)  # type: ignore[misc]

    async def _resize(self) -> None:
        """A new flavor for the load balancer that carries the traffic."""
        do = self._changing
        profile = {"flavorprofile": {"provider_name": self._provider, "flavor_data": "{}"}}
        profile_id = await do.post("flavor profile", "/flavorprofiles", profile, lambda _held, _made: True)
        flavor = {"flavor": {"flavor_profile_id": profile_id}}
        flavor_id = await do.post("flavor", "/flavors", flavor, lambda _held, _made: True)
        path = f"/loadbalancers/{self._load_balancer_id}/resize"
        await do.put("resize", path, {"new_flavor_id": flavor_id}, lambda held: held.listens(self._listener_id))

    async def _listener(self, number: int) -> None:
        id_ = self._listener_id
        seconds = 40 + number
        await self._change_listener(
            "client timeout", {"timeout_client_data": seconds * MS}, f"timeout client {seconds}000ms"
        )
        header = {"X-Forwarded-For": "true", "X-Forwarded-Port": "true"}
        await self._change_listener("headers", {"insert_headers": header}, "option forwardfor")
        for kind, limit in (("limit", 5000 + number), ("other limit", 6000 + number), ("no limit", -1)):
            await self._changing.put(
                kind,
                f"/listeners/{id_}",
                {"listener": {"connection_limit": limit}},
                lambda held, limit=limit: held.limit(id_) == (limit if limit > 0 else None),  # type: ignore[misc]
            )
        for kind, networks in (
            ("allowed networks", ["127.0.0.0/8"]),
            ("more allowed networks", ["10.0.0.0/8", "127.0.0.0/8"]),
            ("all networks", []),
        ):
            await self._changing.put(
                kind,
                f"/listeners/{id_}",
                {"listener": {"allowed_cidrs": networks or None}},
                lambda held, networks=networks: held.networks(id_) == networks,  # type: ignore[misc]
            )
        await self._changing.put(
            "no headers",
            f"/listeners/{id_}",
            {"listener": {"insert_headers": None}},
            lambda held: not held.listener_says(id_, "option forwardfor"),
        )
        await self._changing.put(
            "member timeouts",
            f"/listeners/{id_}",
            {"listener": {"timeout_member_connect": 4000 + number, "timeout_member_data": seconds * MS}},
            lambda held: held.pool_says(self._pool_id, f"timeout connect {4000 + number}ms"),
        )

    async def _change_listener(self, kind: str, fields: dict[str, Any], line: str) -> None:
        id_ = self._listener_id
        await self._changing.put(
            kind, f"/listeners/{id_}", {"listener": fields}, lambda held: held.listener_says(id_, line)
        )

    async def _pool(self, number: int) -> None:
        for kind, fields, line in (
            ("least connections", {"lb_algorithm": "LEAST_CONNECTIONS"}, "balance leastconn"),
            ("by source", {"lb_algorithm": "SOURCE_IP"}, "balance source"),
            ("round robin", {"lb_algorithm": "ROUND_ROBIN"}, "balance roundrobin"),
            ("persistence by source", {"session_persistence": {"type": "SOURCE_IP"}}, "stick on src"),
            ("persistence by cookie", {"session_persistence": {"type": "HTTP_COOKIE"}}, "cookie "),
            (
                "persistence by the application's cookie",
                {"session_persistence": {"type": "APP_COOKIE", "cookie_name": f"session{number}"}},
                "stick match",
            ),
        ):
            await self._changing.put(
                kind,
                f"/pools/{self._pool_id}",
                {"pool": fields},
                lambda held, line=line: held.pool_says(self._pool_id, line),  # type: ignore[misc]
            )
        await self._changing.put(
            "no persistence",
            f"/pools/{self._pool_id}",
            {"pool": {"session_persistence": None}},
            lambda held: not held.pool_says(self._pool_id, "stick"),
        )

    async def _monitor(self, number: int) -> None:
        do, pool = self._changing, self._pool_id
        kind = ("HTTP", "TCP")[number % 2]
        monitor = {"pool_id": pool, "type": kind, "delay": 2, "timeout": 2, "max_retries": 3}

        def checks(held: Any, words: str) -> bool:
            return all(words in " ".join(one.arguments) for one in held.servers(pool))

        id_ = await do.post(
            f"monitor {kind}", "/healthmonitors", {"healthmonitor": monitor}, lambda held, _: checks(held, "inter 2s")
        )
        path = f"/healthmonitors/{id_}"
        for what, fields, words in (
            ("monitor delay", {"delay": 3}, "inter 3s"),
            ("monitor retries", {"max_retries_down": 5}, "fall 5"),
        ):
            await do.put(what, path, {"healthmonitor": fields}, lambda held, words=words: checks(held, words))  # type: ignore[misc]
        await do.delete("monitor removed", path, lambda held: not checks(held, "check"))

    async def _more_listeners(self) -> None:
        do = self._changing
        body = {
            "loadbalancer_id": self._load_balancer_id,
            "protocol": "HTTP",
            "protocol_port": self._port,
            "default_pool_id": self._pool_id,
        }
        id_ = await do.post("listener added", "/listeners", {"listener": body}, lambda held, made: held.listens(made))
        path = f"/listeners/{id_}"
        for kind, up in (("listener down", False), ("listener up", True)):
            await do.put(
                kind,
                path,
                {"listener": {"admin_state_up": up}},
                lambda held, up=up: held.listens(id_) == up,  # type: ignore[misc]
            )
        await do.delete("listener removed", path, lambda held: not held.listens(id_))

    async def _more_load_balancers(self) -> None:
        """A whole one beside, which comes, is down, up, and goes."""
        do = self._changing
        pool = {
            "protocol": "TCP",
            "lb_algorithm": "LEAST_CONNECTIONS",
            "members": [{"address": "127.0.0.1", "protocol_port": self._spare}],
        }
        body = {
            "project_id": do.tenant.project_id,
            "vip_subnet_id": self._subnet_id,
            "listeners": [{"protocol": "TCP", "protocol_port": self._port, "default_pool": {"name": "p", **pool}}],
        }
        id_ = await do.post(
            "load balancer added",
            "/loadbalancers",
            {"loadbalancer": body},
            lambda held, made: made in held.load_balancer_ids,
        )
        status = await do.tenant.surely("GET", f"/v2.0/lbaas/listeners?loadbalancer_id={id_}")
        listener = status["listeners"][0]["id"]
        for kind, up in (("load balancer down", False), ("load balancer up", True)):
            await do.put(
                kind,
                f"/loadbalancers/{id_}",
                {"loadbalancer": {"admin_state_up": up}},
                lambda held, up=up: held.listens(listener) == up,  # type: ignore[misc]
            )
        await do.delete(
            "load balancer removed",
            f"/loadbalancers/{id_}?cascade=true",
            lambda held: id_ not in held.load_balancer_ids,
        )
