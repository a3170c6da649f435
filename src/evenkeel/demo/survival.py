"""A step for HAProxy only: its daemon is killed, and HAProxy keeps serving."""

import asyncio
from collections.abc import Callable

from evenkeel.core.kit.words import count_with_noun
from evenkeel.demo.device_kinds.haproxy import HaproxyDevices
from evenkeel.demo.outcome import DemoResult
from evenkeel.demo.tenant import Tenant
from evenkeel.demo.waiting import wait_until

REQUESTS_MEANWHILE = 200
CHANGED_WEIGHT = 2


async def kill_and_restart_daemon(
    side: HaproxyDevices, tenant: Tenant, load_balancer_id: str, outcome: DemoResult, say: Callable[[str], None]
) -> None:
    """Kill HAProxy's daemon, request a change, wait until :data:`REQUESTS_MEANWHILE` requests were sent
    without the daemon, restart it, and wait for the change.

    Adds measurements and problems to ``outcome``. Raises :class:`~evenkeel.demo.waiting.StepFailed`,
    :class:`~evenkeel.demo.processes.ProcessFailed` and openstacksdk's ``SDKException``.
    """
    counts = outcome.counts
    proxies = await asyncio.to_thread(side.haproxy_pids)
    sent, failed = counts.sent, counts.failed
    side.kill_daemon()
    say(f"kill -9 of the daemon beside HAProxy; HAProxy itself goes on, process ids {_pid_list(proxies)}")
    member = await asyncio.to_thread(tenant.set_weight, load_balancer_id, CHANGED_WEIGHT)
    say(
        f"a member's weight becomes {CHANGED_WEIGHT}, which no agent can bring to HAProxy: {member.provisioning_status}"
    )

    async def has_enough_requests() -> bool:
        return counts.sent - sent >= REQUESTS_MEANWHILE

    await wait_until(has_enough_requests, "requests without the daemon")
    meanwhile, lost = counts.sent - sent, counts.failed - failed
    say(f"{count_with_noun(meanwhile, 'request')} without it, {lost} failed")
    await side.start()
    say(
        f"the daemon is back and has found HAProxy, process ids {_pid_list(await asyncio.to_thread(side.haproxy_pids))}"
    )
    await asyncio.to_thread(tenant.wait_for_member, load_balancer_id, member)
    say("the member is ACTIVE")
    after = await asyncio.to_thread(side.haproxy_pids)
    # workers of an earlier configuration may end meanwhile; a new process would mean a restart or a reload
    if not after or not set(after) <= set(proxies):
        outcome.problems.append(
            f"HAProxy was {_pid_list(proxies)} and is {_pid_list(after)} after the daemon's restart"
        )
    outcome.more.append(("requests while HAProxy's daemon was dead", f"{meanwhile}, failed {lost}"))


def _pid_list(pids: list[int]) -> str:
    return ", ".join(map(str, pids)) or "none"
