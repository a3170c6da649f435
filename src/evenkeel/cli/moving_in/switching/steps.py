"""The steps of a switch-over and of the way back. Each is idempotent, so that a repeated command continues."""

import subprocess
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from evenkeel.cli.client import ClientError
from evenkeel.cli.moving_in.switching.evenkeel_api import EvenKeelApi, EvenKeelLoadBalancer, HostingState
from evenkeel.cli.moving_in.switching.prober import ConnectionProber, MeasuredGap
from evenkeel.cli.moving_in.switching.source import MOVING_OWNER, OCTAVIA_OWNER, Amphora, AmphoraSource, SourceProblem

FIRST_ANSWER_SECONDS = 5.0
"""Time for the VIP's first answer before anything is changed, and for an amphora's silence."""
PROBE_AFTER_SWITCH_SECONDS = 1.0
"""Time for which the VIP is still probed after the new side's first answer."""
POLL_SECONDS = 0.1
HOOK_SECONDS = 60.0
TO_OURS, TO_SOURCE = "to-ours", "to-source"

PrintLine = Callable[[str], None]
ImportAgain = Callable[[str], object]


class SwitchFailed(Exception):
    """A step failed; the text names it and gives the reason."""


class SwitchSettings(NamedTuple):
    """Settings of switch-overs. ``probes``: the VIP is probed to measure the gap."""

    timeout_seconds: float
    """Time for our devices to confirm and for the VIP's first answer, after which the load balancer goes back to the
    amphora.
    """
    probes: bool
    hook: str = ""
    """Command that makes the operator's network route the VIP to the other side; empty: none is needed."""


class LoadBalancerSwitch:
    """Switches one load balancer. ``say`` is called with the name of each step; ``refresh`` imports the source's latest
    state.
    """

    def __init__(
        self,
        ours: EvenKeelApi,
        source: AmphoraSource,
        balancer: EvenKeelLoadBalancer,
        settings: SwitchSettings,
        *,
        say: PrintLine,
        refresh: ImportAgain,
    ) -> None:
        self._ours = ours
        self._source = source
        self._balancer = balancer
        self._settings = settings
        self._say = say
        self._refresh = refresh
        self._prober: ConnectionProber | None = None

    def switch_over(self) -> MeasuredGap | None:
        """Switch over to Even Keel's devices; returns the measured gap, None without probes.

        Raises :class:`SourceProblem` or :class:`ClientError` if nothing was changed; later
        :class:`SwitchFailed`: the load balancer went back to the amphorae, or, as the text says, that failed
        too.
        """
        id_ = self._balancer.id
        amphorae = self._source.amphorae(id_)
        if self._ours.hosting(id_).held:
            self._refresh(id_)
        self._start_prober(must_answer=self._amphorae_may_send(amphorae))
        try:
            self._move_to_our_devices(amphorae)
        except (Exception, KeyboardInterrupt) as error:
            self._say(f"going back: {error or 'interrupted'}")
            gap = self._return_to_amphorae()
            raise SwitchFailed(f"{error or 'interrupted'}; it went back to the amphora{_gap_text(gap)}") from error
        return self._end_probing()

    def _move_to_our_devices(self, amphorae: Sequence[Amphora]) -> None:
        id_ = self._balancer.id
        begun = time.monotonic()
        was_speaking = self._amphorae_may_send(amphorae)
        for amphora in amphorae:
            self._source.remove_addresses(amphora, self._balancer.addresses)
        self._say(f"silenced amphorae {', '.join(each.id for each in amphorae)}")
        if was_speaking and self._prober and not self._prober.wait_for_silence(begun, FIRST_ANSWER_SECONDS):
            raise SwitchFailed("the VIP answers although its amphorae were silenced")
        released = time.monotonic()
        self._ours.set_held(id_, False)
        self._await_devices(held=False)
        self._run_hook(TO_OURS)
        if self._prober and not self._prober.wait_for_success(released, self._settings.timeout_seconds):
            raise SwitchFailed(f"the VIP did not answer within {self._settings.timeout_seconds:g} s of its release")
        self._say("our devices serve it")

    def switch_back(self) -> MeasuredGap | None:
        """Go back to the amphorae; returns the measured gap, None without probes. Raises
        :class:`SwitchFailed`, :class:`SourceProblem` and :class:`ClientError`; a repeated call continues.
        """
        self._source.amphorae(self._balancer.id)  # raises if there is none to go back to
        self._start_prober(must_answer=False)
        return self._return_to_amphorae()

    def _return_to_amphorae(self) -> MeasuredGap | None:
        id_ = self._balancer.id
        try:
            # First: clients in between wait for an answer, and are not refused by a host without a listener.
            self._run_hook(TO_SOURCE)
            self._ours.set_held(id_, True)
            self._await_devices(held=True)
            self._await_port_unbound()
            spoken = time.monotonic()
            for amphora in self._source.amphorae(id_):
                self._source.allow_addresses(amphora, self._balancer.addresses)
            self._say("the amphorae may speak again")
            if self._prober and not self._prober.wait_for_success(spoken, self._settings.timeout_seconds):
                raise SwitchFailed("the VIP does not answer although its amphorae may speak: look at them")
        except (ClientError, SourceProblem) as error:
            raise SwitchFailed(f"going back failed, repeat it with --back: {error}") from error
        return self._end_probing()

    def _amphorae_may_send(self, amphorae: Sequence[Amphora]) -> bool:
        return any(each.may_send_from(self._balancer.addresses) for each in amphorae)

    def _start_prober(self, *, must_answer: bool) -> None:
        """Start to probe the VIP, unless probes are off. Raises :class:`SourceProblem` if no listener can be
        probed, or if ``must_answer`` and the VIP does not answer.
        """
        if not self._settings.probes:
            return
        if self._balancer.tcp_port is None:
            raise SourceProblem("it has no enabled listener to which TCP clients may connect: give --no-probe")
        address = self._balancer.addresses[0]
        self._prober = ConnectionProber(address, self._balancer.tcp_port)
        self._prober.start()
        if must_answer and not self._prober.wait_for_success(0.0, FIRST_ANSWER_SECONDS):
            self._prober.stop()
            raise SourceProblem(
                f"{address} port {self._balancer.tcp_port} does not answer from here before the switch-over: run it"
                " where clients are, or give --no-probe"
            )

    def _end_probing(self) -> MeasuredGap | None:
        if self._prober is None:
            return None
        self._prober.wait_for_success(time.monotonic() + PROBE_AFTER_SWITCH_SECONDS, 2 * PROBE_AFTER_SWITCH_SECONDS)
        return self._prober.stop()

    def _await_devices(self, *, held: bool) -> None:
        """Wait until the devices have confirmed that the load balancer is held, or released. Raises
        :class:`SwitchFailed` with the reason if they refuse it or do not confirm in time, and
        :class:`ClientError`.
        """
        state = "without it" if held else "with it"

        def is_confirmed(now: HostingState) -> bool:
            if now.status == "ERROR":
                raise SwitchFailed(f"our devices refuse it: {now.reason}")
            return now.held == held and now.settled

        if not self._wait_until(lambda: is_confirmed(self._ours.hosting(self._balancer.id))):
            reason = self._ours.hosting(self._balancer.id).reason
            raise SwitchFailed(f"our devices are not {state} within {self._settings.timeout_seconds:g} s: {reason}")
        self._say(f"our devices are {state}")

    def _await_port_unbound(self) -> None:
        """Wait until Even Keel's controllers have unbound the VIP's port. Raises :class:`SwitchFailed` after
        the time-out, and :class:`ClientError`.
        """
        if not self._wait_until(lambda: not self._source.is_bound(self._balancer.port_id)):
            raise SwitchFailed(f"port {self._balancer.port_id} of the VIP is still bound to our devices' host")

    def _wait_until(self, condition: Callable[[], bool]) -> bool:
        until = time.monotonic() + self._settings.timeout_seconds
        while not condition():
            if time.monotonic() >= until:
                return False
            time.sleep(POLL_SECONDS)
        return True

    def _run_hook(self, direction: str) -> None:
        if not self._settings.hook:
            return
        words = [self._settings.hook, direction, self._balancer.id, *self._balancer.addresses]
        try:
            done = subprocess.run(words, check=False, capture_output=True, text=True, timeout=HOOK_SECONDS)  # noqa: S603
        except (OSError, subprocess.SubprocessError) as error:
            raise SwitchFailed(f"the hook: {error}") from error
        if done.returncode:
            raise SwitchFailed(f"the hook ended with {done.returncode}: {done.stderr.strip()[-500:]}")


def finish_switch(
    ours: EvenKeelApi, source: AmphoraSource, balancer: EvenKeelLoadBalancer, *, timeout_seconds: float, say: PrintLine
) -> None:
    """Delete a switched load balancer in Octavia, but keep its VIP's port. ``timeout_seconds``: for the
    deletion. Raises :class:`SwitchFailed` if it is not switched over, or not deleted in time, and
    :class:`ClientError`; a repeated call continues.
    """
    now = ours.hosting(balancer.id)
    if now.held or not now.settled:
        raise SwitchFailed(f"it is not switched over: {now.reason or now.status}")
    if source.load_balancer(balancer.id) is not None:
        port = source.port(balancer.port_id)
        if port is not None and port["device_owner"] == OCTAVIA_OWNER:
            source.set_owner(balancer.port_id, MOVING_OWNER)
            say(f"port {balancer.port_id} of the VIP is not Octavia's meanwhile")
        source.delete_load_balancer(balancer.id)
        until = time.monotonic() + timeout_seconds
        while source.load_balancer(balancer.id) is not None:
            if time.monotonic() >= until:
                raise SwitchFailed(f"Octavia has not deleted it within {timeout_seconds:g} s: repeat this later")
            time.sleep(POLL_SECONDS)
        say("Octavia has deleted it")
    port = source.port(balancer.port_id)
    if port is not None and port["device_owner"] == MOVING_OWNER:
        source.set_owner(balancer.port_id, OCTAVIA_OWNER)


def _gap_text(gap: MeasuredGap | None) -> str:
    return "" if gap is None else f" ({gap})"
