"""One load balancer that the device refuses: it alone fails, and finding it costs a logarithm of requests."""

import math

from evenkeel.core.resources.model import Vip
from evenkeel.devices.bigip.objects import DATA_GROUP, F5_ONLY_TYPES, NODE, OWNED_TYPES
from tests.devices.bigip.rig import BigIpRig
from tests.devices.services import batch, service

COUNT = 200
TAKEN = "10.99.0.1"
COMMANDS_OF_ONE = 4
"""Virtual address, monitor, pool with its member, virtual server."""


FULL_READ = len({*OWNED_TYPES, *F5_ONLY_TYPES, NODE, DATA_GROUP})
"""Requests."""


async def test_one_poisoned_load_balancer_of_200_costs_the_other_199_nothing(rig: BigIpRig) -> None:
    await rig.hands.call("POST", "ltm/virtual", {"name": "somebody-elses", "destination": f"{TAKEN}:80"})
    services = [service(number, members=1) for number in range(1, COUNT + 1)]
    services[76] = service(77, members=1, vip=Vip(address=TAKEN, subnet_id="s", network_id="n", port_id="p"))
    agent = rig.owner()
    rig.counts()
    outcome = await agent.apply(batch(*services, complete=True))
    failed = {one.load_balancer_id: one.error for one in outcome.outcomes if one.error}
    assert list(failed) == ["lb-77"]
    assert f"{TAKEN} already exists" in failed["lb-77"]
    assert len(await rig.hands.items("ltm/virtual")) == COUNT - 1

    refused = [one for one in rig.emulator.write_log.entries(after=0) if one["event"] == "transaction_refused"]
    in_one_transaction = 200 // COMMANDS_OF_ONE
    # once more than halving needs: the first refusal leads to a full read, and the same portion is tried again
    assert len(refused) <= math.ceil(math.log2(in_one_transaction)) + 2
    counts = rig.counts()
    # halving repeats the commands of the one portion that holds it twice: each level tries both halves
    without_poison = COUNT * COMMANDS_OF_ONE
    assert counts["writes"] <= without_poison + 2 * 200 + 100
    assert counts["reads"] <= 2 * FULL_READ + 10

    rig.counts()
    again = await agent.apply(batch(services[76]))
    assert again.outcomes[0].error == failed["lb-77"]
    counts = rig.counts()
    assert counts["reads"] + counts["writes"] <= FULL_READ + 10
