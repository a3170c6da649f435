"""What was repaired is told with the next receipt, once."""

from evenkeel.haproxyd.partition.repairs import TEXTS_MAX, PendingRepairTexts


def test_texts_are_reported_once_without_repetitions_and_of_what_is_still_held() -> None:
    report = PendingRepairTexts()
    report.add({"lb-1": ("a", "b"), "gone": ("c",)})
    report.add({"lb-1": ("b", "d")})
    assert report.take_texts({"lb-1", "lb-2"}) == {"lb-1": ("a", "b", "d")}
    assert report.take_texts({"lb-1", "gone"}) == {}


def test_repair_of_the_partition_is_reported_for_each_load_balancer() -> None:
    report = PendingRepairTexts()
    report.add_to_all("held.log is gone", ("lb-1", "lb-2"))
    text = ("held.log is gone; repaired",)
    assert report.take_texts({"lb-1", "lb-2"}) == {"lb-1": text, "lb-2": text}


def test_texts_are_bounded() -> None:
    report = PendingRepairTexts()
    for number in range(2 * TEXTS_MAX):
        report.add({"lb-1": (str(number),)})
    assert report.take_texts({"lb-1"}) == {"lb-1": tuple(map(str, range(TEXTS_MAX)))}
