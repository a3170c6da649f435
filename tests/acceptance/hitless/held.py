"""What the daemon says a partition holds, by the API's ids."""

from evenkeel.haproxyd import wire


class Held:
    """One partition as it is configured."""

    def __init__(self, partition: wire.PartitionConfig) -> None:
        self._frontends = {one.name: one for each in partition.load_balancers for one in each.frontends}
        self._backends = {one.name: one for each in partition.load_balancers for one in each.backends}
        self._files = {one.name: one.content for each in partition.load_balancers for one in each.files}
        self.load_balancer_ids = {each.id for each in partition.load_balancers}

    def listens(self, listener_id: str) -> bool:
        """Is there a frontend?"""
        return listener_id in self._frontends

    def limit(self, listener_id: str) -> int | None:
        """Of connections."""
        return self._frontends[listener_id].maxconn

    def networks(self, listener_id: str) -> list[str]:
        """Allowed ones; none: all are."""
        return self._files.get(f"{listener_id}:cidrs", "").split()

    def listener_says(self, listener_id: str, line: str) -> bool:
        """Is this one of the frontend's lines?"""
        return line in self._frontends[listener_id].lines

    def pool_says(self, pool_id: str, beginning: str) -> bool:
        """Does one of the lines of the pool's only backend begin like this?"""
        return any(line.startswith(beginning) for line in self._backends[pool_id].lines)

    def servers(self, pool_id: str) -> tuple[wire.BackendServer, ...]:
        """The pool's members."""
        return self._backends[pool_id].servers

    def server(self, pool_id: str, member_id: str) -> wire.BackendServer | None:
        """One member; None if it is not there."""
        return next((one for one in self.servers(pool_id) if one.name == member_id), None)
