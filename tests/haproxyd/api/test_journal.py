"""The journal of writes."""

from structlog.testing import capture_logs

from evenkeel.haproxyd.api.journal import ENTRIES_MAX, LOAD_BALANCERS_NAMED_MAX, WriteJournal


def add(journal: WriteJournal, epoch: int, **more) -> None:
    journal.add(partition="p", agent="a", epoch=epoch, accepted=True, how="runtime", **more)


def test_journal_keeps_the_newest_entries_in_order() -> None:
    journal = WriteJournal(now=lambda: 1.0)
    for epoch in range(ENTRIES_MAX + 5):
        add(journal, epoch)
    entries = journal.entries_after(0).entries
    assert [entry.epoch for entry in entries] == list(range(5, ENTRIES_MAX + 5))
    assert journal.entries_after(entries[-2].number).entries == (entries[-1],)


def test_journal_entry_names_a_bounded_number_of_load_balancers() -> None:
    journal = WriteJournal()
    add(journal, 1, load_balancer_ids=[str(number) for number in range(1000)])
    assert len(journal.entries_after(0).entries[0].load_balancer_ids) == LOAD_BALANCERS_NAMED_MAX


def test_numbers_rise_over_restarts() -> None:
    first = WriteJournal(now=lambda: 100.0)
    for epoch in range(50):
        add(first, epoch)
    second = WriteJournal(now=lambda: 101.0)
    add(second, 51)
    assert second.entries_after(first.entries_after(0).entries[-1].number).entries[0].epoch == 51


def test_each_write_is_logged_and_a_refused_one_states_why():
    journal = WriteJournal()
    with capture_logs() as logs:
        add(journal, 7, load_balancer_ids=["lb-1", "lb-2"])
        journal.add(partition="p", agent="a", epoch=7, accepted=True, how="nothing")
        journal.add(partition="p", agent="b", epoch=6, accepted=False, how="stale_epoch")
    told = [(entry["log_level"], entry["event"], entry["agent"], entry["epoch"]) for entry in logs]
    assert told == [
        ("info", "write accepted", "a", 7),
        ("debug", "write accepted", "a", 7),
        ("warning", "write refused", "b", 6),
    ]
    assert logs[0]["load_balancers"] == "lb-1,lb-2" and logs[2]["reason"] == "stale_epoch"


def test_an_entry_names_the_requests_whose_changes_were_written():
    journal = WriteJournal()
    with capture_logs() as logs:
        add(journal, 7, request_ids=("req-1", "req-2"))
    assert logs[0]["request_ids"] == "req-1,req-2"
    assert journal.entries_after(0).entries[0].request_ids == ("req-1", "req-2")
