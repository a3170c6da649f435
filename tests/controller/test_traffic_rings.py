"""The rings in which points are kept: bounded memory, and readers in another thread."""

import sys
import threading
import tracemalloc

from evenkeel.controller.traffic_rings import BYTES_PER_POINT, TrafficRings
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.status.traffic import TrafficSample

LB = LoadBalancerId("lb")
MANY = 2000


def traffic(connections: float, members: int = 3) -> TrafficSample:
    return TrafficSample(
        connections=connections,
        active_connections=int(connections),
        bytes_in=connections,
        bytes_out=connections,
        request_errors=0.0,
        members_online=members,
        members=members,
    )


def test_memory_is_that_of_the_points_whatever_they_hold() -> None:
    ids = [LoadBalancerId(f"lb-{number:032}") for number in range(MANY)]
    kept = frozenset(ids)
    tracemalloc.start()
    try:
        rings = TrafficRings(points=360)
        for at in range(3):
            rings.begin_slot(kept)
            for id_ in ids:
                rings.add_ring(id_)
                rings.write_sample(id_, traffic(1e9))
            rings.publish_slot(float(at))
        used, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert BYTES_PER_POINT == 24
    assert used / MANY < 9_000, "docs/how-to/monitor.md says 9 kB"


def test_numbers_that_do_not_fit_are_cut() -> None:
    rings = TrafficRings(points=1)
    rings.add_ring(LB)
    rings.begin_slot(frozenset({LB}))
    rings.write_sample(LB, traffic(1e30, members=100_000))
    rings.publish_slot(1.0)
    (point,) = rings.points(LB)
    assert point.members == 0xFFFF and point.connections > 9e29


def test_a_reader_in_another_thread_sees_only_whole_points() -> None:
    rings = TrafficRings(points=3)
    rings.add_ring(LB)
    wrong: list[object] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            points = rings.points(LB)
            # the n-th point has the value n, and its time
            wrong.extend(point for point in points if point.connections != point.at)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    reader = threading.Thread(target=read)
    reader.start()
    try:
        for number in range(1, 5000):
            rings.begin_slot(frozenset({LB}))
            rings.write_sample(LB, traffic(float(number)))
            rings.publish_slot(float(number))
    finally:
        done.set()
        reader.join()
        sys.setswitchinterval(interval)
    assert wrong == []
