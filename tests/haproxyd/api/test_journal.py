"""The journal of writes."""

from evenkeel.haproxyd.api.journal import ENTRIES_MAX, LOAD_BALANCERS_NAMED_MAX, WriteJournal


def add(journal: WriteJournal, epoch: int, **more) -> None:
    journal.add(partition="p", agent="a", epoch=epoch, accepted=True, how="runtime", **more)


def test_it_keeps_the_newest_in_order() -> None:
    journal = WriteJournal(now=lambda: 1.0)
    for epoch in range(ENTRIES_MAX + 5):
        add(journal, epoch)
    entries = journal.after(0).entries
    assert [entry.epoch for entry in entries] == list(range(5, ENTRIES_MAX + 5))
    assert journal.after(entries[-2].number).entries == (entries[-1],)


def test_it_names_a_bounded_number_of_load_balancers() -> None:
    journal = WriteJournal()
    add(journal, 1, load_balancer_ids=[str(number) for number in range(1000)])
    assert len(journal.after(0).entries[0].load_balancer_ids) == LOAD_BALANCERS_NAMED_MAX


def test_numbers_rise_over_restarts() -> None:
    first = WriteJournal(now=lambda: 100.0)
    for epoch in range(50):
        add(first, epoch)
    second = WriteJournal(now=lambda: 101.0)
    add(second, 51)
    assert second.after(first.after(0).entries[-1].number).entries[0].epoch == 51
