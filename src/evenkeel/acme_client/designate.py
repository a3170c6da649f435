"""The port ``DnsZone``, implemented by OpenStack's DNS service (Designate), with openstacksdk in threads.

Designate changes sets of records as a whole, without a condition: if two controllers change the records of
one name at the same time, one change may get lost. The order whose record is missing sets the record again,
because all records of an order are looked for before the authority is told.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any

import requests
from keystoneauth1 import exceptions as auth_errors
from openstack import exceptions as sdk_errors

from evenkeel.core.kit.blocking import BlockingCalls
from evenkeel.core.kit.errors import DnsZoneUnavailable
from evenkeel.core.tls.acme.values import TxtRecord

TTL_SECONDS = 60
CHANGE_ATTEMPTS = 3
"""Number of attempts to change the records of a name that another controller changes at the same time."""
REQUESTS_PER_CALL = 10
"""Time limit of a call, as a multiple of the time-out of one request."""
_THREADS, _WAITING_MAX = 2, 30
_CONFLICT_STATUS = 409

MakeDnsProxy = Callable[[], Any]
"""Returns openstacksdk's proxy of the DNS service; called once, in a thread, at the first use."""


class DesignateZone:
    """Changes TXT records of one zone in Designate, in the project for which ``connect`` logs in.

    ``timeout_seconds``: time-out of each request, which ``connect`` must set in the SDK.
    """

    def __init__(self, zone: str, connect: MakeDnsProxy, *, timeout_seconds: float) -> None:
        self._zone = zone
        self._connect = connect
        self._sdk: Any = None
        self._seconds = REQUESTS_PER_CALL * timeout_seconds
        self._calls = BlockingCalls(
            f"Designate, which has zone {zone},",
            unavailable=DnsZoneUnavailable,
            timeout_seconds=self._seconds,
            threads=_THREADS,
            waiting_max=_WAITING_MAX,
        )

    async def check(self, names: Sequence[str]) -> None:
        """Check that the project has the zone as a primary one, because Designate cannot try a change;
        ``names`` is ignored. Raises :class:`DnsZoneUnavailable` if it does not.
        """
        await self._run_in_thread(lambda call: call.zone_id())

    async def add(self, records: Sequence[TxtRecord]) -> None:
        """Add each record's value to the record set of its name, beside the other values. Raises
        :class:`DnsZoneUnavailable`; some records may be added then.
        """
        await self._run_in_thread(
            lambda call: call.change(records, lambda there, values: [*there, *(values - set(there))])
        )

    async def remove(self, records: Sequence[TxtRecord]) -> None:
        """Remove each record's value from the record set of its name, and delete sets that are then empty.
        Raises :class:`DnsZoneUnavailable`; some records may be removed then.
        """
        await self._run_in_thread(
            lambda call: call.change(records, lambda there, values: [v for v in there if v not in values])
        )

    async def missing_record_reason(self, records: Sequence[TxtRecord]) -> str:
        """Return a text that names a record which is not yet on all name servers of the zone (status ACTIVE); empty if
        all are. Raises :class:`DnsZoneUnavailable`.
        """
        found: str = await self._run_in_thread(lambda call: call.missing_record_reason(records))
        return found

    def close(self) -> None:
        """Close the thread pool: calls that start from now on are refused."""
        self._calls.close()

    async def _run_in_thread(self, work: "Callable[[_CallWithDeadline], Any]") -> Any:
        """Run ``work`` in a thread, within the time limit, and return its result.

        Raises :class:`DnsZoneUnavailable` without addresses, because tenants, who may see the text, must not learn
        them.
        """
        # From now on, so that a thread whose call has timed out sends nothing more.
        deadline = time.monotonic() + self._seconds

        def call() -> Any:
            try:
                if self._sdk is None:
                    self._sdk = self._connect()
                return work(_CallWithDeadline(self._sdk, self._zone, deadline))
            except (sdk_errors.SDKException, auth_errors.ClientException, requests.RequestException) as error:
                raise DnsZoneUnavailable(
                    f"Zone {self._zone} cannot be changed in Designate: {_failure_reason(error)}."
                ) from None

        return await self._calls.run(call)


class _CallWithDeadline:
    """Requests to Designate that are part of one call and end with its deadline."""

    def __init__(self, sdk: Any, zone: str, deadline: float) -> None:
        self._sdk = sdk
        self._zone = zone
        self._deadline = deadline

    def zone_id(self) -> str:
        """Return the zone's id. Raises :class:`DnsZoneUnavailable` if the project does not have the zone, or it is not
        a primary one.
        """
        found = list(islice(self._sdk_before_deadline().zones(name=f"{self._zone}."), 1))
        if not found:
            raise DnsZoneUnavailable(f"Designate has no zone {self._zone} in the project of the controllers' login.")
        if found[0].type not in (None, "PRIMARY"):
            raise DnsZoneUnavailable(f"Zone {self._zone} is {found[0].type} in Designate, and cannot be changed there.")
        return str(found[0].id)

    def change(self, records: Sequence[TxtRecord], change: Callable[[list[str], set[str]], list[str]]) -> None:
        """Change the record set of each name; a change that conflicts with another controller's is tried
        :data:`CHANGE_ATTEMPTS` times. Raises :class:`DnsZoneUnavailable`, and the SDK's errors.

        ``change``: returns the new values of a set, from its present values and those of the records.
        """
        zone_id = self.zone_id()
        for name in dict.fromkeys(each.name for each in records):
            values = {each.value for each in records if each.name == name}
            for attempt in range(CHANGE_ATTEMPTS):
                try:
                    self._change_record_set(zone_id, name, values, change)
                    break
                except sdk_errors.HttpException as error:
                    # Made, or removed, by another controller since it was read.
                    if error.status_code not in (404, _CONFLICT_STATUS) or attempt == CHANGE_ATTEMPTS - 1:
                        raise

    def missing_record_reason(self, records: Sequence[TxtRecord]) -> str:
        zone_id = self.zone_id()
        for one in records:
            found = self._record_set(zone_id, one.name)
            if found is None or one.value not in _record_set_values(found):
                return f"Designate does not have the record {one.name} of zone {self._zone}."
            if found.status == "ERROR":
                return f"Designate cannot bring the record {one.name} to the name servers of zone {self._zone}."
            if found.status != "ACTIVE":
                return f"Designate has not brought the record {one.name} to the name servers of zone {self._zone} yet."
        return ""

    def _change_record_set(
        self, zone_id: str, name: str, values: set[str], change: Callable[[list[str], set[str]], list[str]]
    ) -> None:
        found = self._record_set(zone_id, name)
        there = [] if found is None else _record_set_values(found)
        wanted = change(there, values)
        if wanted == there:
            return
        quoted = [f'"{value}"' for value in wanted]
        if found is None:
            self._sdk_before_deadline().create_recordset(
                zone_id, name=f"{name}.", type="TXT", ttl=TTL_SECONDS, records=quoted
            )
        elif not wanted:
            self._sdk_before_deadline().delete_recordset(found, ignore_missing=True)
        else:
            self._sdk_before_deadline().update_recordset(found, records=quoted)

    def _record_set(self, zone_id: str, name: str) -> Any:
        """Return the set of TXT records of a name; None if there is none. Raises :class:`DnsZoneUnavailable`
        after the deadline.
        """
        found: Iterable[Any] = self._sdk_before_deadline().recordsets(zone_id, name=f"{name}.", type="TXT")
        return next(iter(islice(found, 1)), None)

    def _sdk_before_deadline(self) -> Any:
        """Return the SDK's proxy. Raises :class:`DnsZoneUnavailable` after the deadline."""
        if time.monotonic() > self._deadline:
            raise DnsZoneUnavailable(f"Designate, which has zone {self._zone}, did not answer in time.")
        return self._sdk


def _record_set_values(record_set: Any) -> list[str]:
    """Return the values of a set of TXT records without quotes. Each is one string, because values of ACME contain no
    spaces.
    """
    return [str(each).strip('"') for each in record_set.records or ()]


def _failure_reason(error: Exception) -> str:
    status = getattr(error, "status_code", None) or getattr(error, "http_status", None)
    if status in (401, 403):
        return f"the controllers' login is refused (HTTP {status})"
    return f"HTTP {status}" if status else type(error).__name__
