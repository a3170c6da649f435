"""Views are read again while somebody uses them: what did not change keeps its nodes, and a dialog stays as it is."""

import re
from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

import pytest
from playwright.sync_api import Route, expect

from tests.ui.acting import ask_for
from tests.ui.looking import Window

READ_EVERY_MS = 10_000
"""``ui/src/live.js``."""
AGENT = str(UUID(int=(1 << 96)))
"""The agent on the host ``net-000``."""
LOAD_BALANCER = str(UUID(int=(5 << 96)))
NEW = "new at this reading"

USED = "main :is(a, button, input, select, code, th, h2, h3)"
"""What is pressed, typed into, chosen or copied, and what a reader keeps in sight."""
NAMED = """const named = () => {
    const found = new Map()
    for (const node of document.querySelectorAll(used)) {
        const attributes = ['aria-label', 'href'].map(each => node.getAttribute(each))
        const name = [node.tagName, ...attributes, node.textContent].join(' ')
        found.set(name, found.has(name) ? null : node)
    }
    return found
}"""
REMEMBER = f"used => {{ {NAMED}; window.remembered = named() }}"
REPLACED = f"""used => {{
    {NAMED}
    const present = named()
    const both = [...window.remembered].filter(([name, node]) => node && present.get(name))
    return [both.length, both.filter(([name, node]) => present.get(name) !== node).map(([name]) => name)]
}}"""
"""How many of what was remembered has still its name, and the names of what is another node now."""

Change = Callable[[dict[str, Any]], object]

pytestmark = pytest.mark.timeout(600)


class Answers:
    """The controller's answers to a window, changed before the page gets them."""

    def __init__(self, window: Window) -> None:
        self._window = window
        self._changes: dict[str, Change] = {}
        window.page.clock.install()
        window.page.route(re.compile("/evenkeel/v1/|/v2/lbaas/"), self._answer)

    def change(self, ending: str, change: Change) -> None:
        """Change answers to reads whose path ends so from now on, instead of what was said before."""
        self._changes[ending] = change

    def fail(self, ending: str) -> None:
        """Answers to reads whose path ends so are errors from now on."""
        self._changes[ending] = _fail

    def read_again(self) -> None:
        """Let the time pass after which the page reads again what it shows."""
        self._window.page.clock.fast_forward(READ_EVERY_MS)

    def _answer(self, route: Route) -> None:
        path = route.request.url.partition("?")[0]
        found = [change for ending, change in self._changes.items() if path.endswith(ending)]
        if not found or route.request.method != "GET":
            route.continue_()
        elif found[0] is _fail:
            route.fulfill(status=503, json={"faultstring": NEW})
        else:
            content = route.fetch().json()
            found[0](content)
            route.fulfill(json=content)


def _fail(content: dict[str, Any]) -> None:
    raise AssertionError("this answer has no content")


@pytest.fixture
def answers(window: Window) -> Iterator[Answers]:
    yield Answers(window)
    window.page.unroute_all(behavior="wait")


def _shards_wait(content: dict[str, Any]) -> None:
    """The table of agents gets a column before that of its buttons, and a row above the others."""
    for agent in content["agents"]:
        agent["away_reason"] = NEW
    content["agents"].insert(0, content["agents"][0] | {"id": str(UUID(int=7)), "host": "net-new"})


def test_dialog_stays_open_when_the_table_gets_a_column(window: Window, answers: Answers) -> None:
    window.go("agents")
    dialog = ask_for(window, "Drain net-000")
    confirm = dialog.locator("button.confirm")
    confirm.evaluate("button => { window.pressed = button }")
    answers.change("/agents", _shards_wait)
    answers.read_again()
    expect(window.page.get_by_text(NEW).first).to_be_attached()
    expect(dialog).to_be_visible()
    assert confirm.evaluate("button => button === window.pressed")


def test_press_that_began_before_the_table_got_a_column_opens_the_dialog(window: Window, answers: Answers) -> None:
    page = window.page
    window.go("agents")
    button = page.get_by_role("button", name="Drain net-003", exact=True)
    button.evaluate("button => { button.style.position = 'fixed'; button.style.inset = '0 auto auto 0' }")
    button.hover()
    page.mouse.down()
    answers.change("/agents", _shards_wait)
    answers.read_again()
    expect(page.get_by_text(NEW).first).to_be_visible()
    expect(button).to_be_focused()
    page.mouse.up()
    expect(page.get_by_role("dialog")).to_contain_text("evenkeel agent drain net-003 --wait")


def test_dialog_asks_for_what_it_was_opened_for_when_another_operator_did_it(window: Window, answers: Answers) -> None:
    page = window.page

    def drained(content: dict[str, Any]) -> None:
        content["agents"][0] |= {"admin_state_up": False, "state": "drained"}

    def two_shards(content: dict[str, Any]) -> None:
        content["agents"][0]["acting_shards"] = 2

    window.go("agents")
    dialog = ask_for(window, "Drain net-000")
    answers.change("/agents", two_shards)
    answers.read_again()
    expect(dialog).to_contain_text("It serves 2 shards.")
    answers.change("/agents", drained)
    answers.read_again()
    expect(page.locator("[aria-label='Undrain net-000']")).to_be_attached()
    expect(dialog).to_have_accessible_name("Drain net-000")
    page.route(re.compile("drain$"), lambda route: route.fulfill(json={"agent": {}}))
    with page.expect_request(re.compile("drain$")) as asked:
        dialog.locator("button.confirm").click()
    assert asked.value.url.endswith("/drain")
    expect(dialog).to_have_count(0)


def test_dialog_and_what_was_typed_stay_when_a_reading_fails(window: Window, answers: Answers) -> None:
    answers.change("/evenkeel/v1/certificates", lambda content: content.update(certificates=[]))
    window.go("certificates")
    dialog = ask_for(window, "Add certificate")
    dialog.get_by_label("Name", exact=True).fill("www")
    answers.fail("/evenkeel/v1/certificates")
    answers.read_again()
    expect(window.page.get_by_text(NEW)).to_be_attached()
    expect(dialog.get_by_label("Name", exact=True)).to_have_value("www")
    expect(window.page.get_by_role("button", name="Add certificate", include_hidden=True).first).to_be_attached()


def test_dialog_ends_with_its_view_and_gives_the_focus_back(window: Window) -> None:
    page = window.page
    window.go("agents")
    for _ in range(2):
        dialog = ask_for(window, "Drain net-000")
        dialog.get_by_role("button", name="Cancel").click()
        expect(dialog).to_have_count(0)
        expect(page.get_by_role("button", name="Drain net-000", exact=True)).to_be_focused()
    ask_for(window, "Drain net-000")
    page.evaluate("location.hash = '#/devices'")
    expect(page.get_by_role("heading", name="Devices")).to_be_visible()
    expect(page.get_by_role("dialog")).to_have_count(0)


def _row_above(rows: list[dict[str, Any]], **different: Any) -> None:
    """Add a row like the first one above it."""
    rows.insert(0, {**rows[0], "id": str(UUID(int=7)), "name": NEW, **different})


def _statuses(content: dict[str, Any]) -> None:
    problem = {"kind": "agents_silent", "text": NEW, "remedy": "", "objects": [], "commands": []}
    pending = {"kind": "pending_long", "remedy": "", "objects": [], "commands": [{"command": "evenkeel status"}]}
    seconds = content["status"]["oldest_pending_seconds"]
    content["status"]["problems"] = [problem, pending | {"text": f"the oldest change is PENDING for {seconds} s"}]
    content["status"]["load_balancers"]["PENDING_UPDATE"] = 1


def _pending(content: dict[str, Any]) -> None:
    _statuses(content)
    del content["status"]["problems"][0], content["status"]["load_balancers"]["PENDING_UPDATE"]
    content["status"]["problems"][0]["text"] = "the oldest change is PENDING for 61 s"


def _halted(content: dict[str, Any]) -> None:
    content["environments"][0] |= {"halted": NEW, "description": NEW}


def _two_pools(content: dict[str, Any]) -> None:
    pool = {"id": str(UUID(int=8)), "name": "web", "cidr": "192.0.2.0/24", "allocation_start": "", "allocation_end": ""}
    more = {"gateway_ip": None, "reserved": [], "device_addresses": [], "project_id": ""}
    content["subnets"] = [pool | more]


def _reserved(content: dict[str, Any]) -> None:
    _two_pools(content)
    _row_above(content["subnets"], reserved=["192.0.2.9"])


def _references(content: dict[str, Any]) -> None:
    reference = {"project_id": "", "kind": "certificate", "reference": "directory:/www", "not_after": None}
    content["references"] = [reference | {"subject": "", "dns_names": [], "problem": "", "load_balancers": 1}]


def _unreadable(content: dict[str, Any]) -> None:
    _references(content)
    _row_above(content["references"], reference="directory:/other", problem=NEW)


def _moves(content: dict[str, Any]) -> None:
    move = {"load_balancer_id": LOAD_BALANCER, "name": "lb", "step": "draining", "back": False, "gap_seconds": None}
    content["moves"] = [move | {"source": "prod/1", "target": "prod/2", "reason": "", "by_operator": False}]


def _more_moves(content: dict[str, Any]) -> None:
    _moves(content)
    _row_above(content["moves"], load_balancer_id=str(UUID(int=7)), reason=NEW)


def _histories(content: dict[str, Any]) -> None:
    row = {"history_id": str(UUID(int=8)), "noted_at": "2026-01-01T00:00:00"}
    content["database"]["unknown_histories"] = [row]


def _more_histories(content: dict[str, Any]) -> None:
    _histories(content)
    _row_above(content["database"]["unknown_histories"], history_id=str(UUID(int=7)))


def _away(content: dict[str, Any]) -> None:
    content["agent"] |= {"away_shards": 1, "away_reason": NEW}
    content["agent"]["devices"][0]["failover_state"] = ""
    content["agent"]["devices"].insert(0, {**content["agent"]["devices"][0], "name": "192.0.2.1", "problem": NEW})


def _tree(content: dict[str, Any]) -> None:
    child = {"provisioning_status": "ACTIVE", "operating_status": "ONLINE", "status_reason": ""}
    names = ("listeners", "web", "l7policies", "moved", "rules", "path")
    node = content["tree"]
    for depth, (key, name) in enumerate(zip(names[::2], names[1::2], strict=True)):
        node[key] = [
            {**child, "id": str(UUID(int=10 + depth)), "name": name, "default_pool_id": None, "l7policies": []}
        ]
        (node,) = node[key]
        node["redirect_pool_id"] = None


def _more_listeners(content: dict[str, Any]) -> None:
    _tree(content)
    _row_above(content["tree"]["listeners"], l7policies=[])


def _hosting(content: dict[str, Any]) -> None:
    content["hosting"] |= {"data_path": "kernel", "ahead": 3}


def _controllers(content: dict[str, Any]) -> None:
    _row_above(content["topology"]["controllers"], url=f"http://127.0.0.1:1/{NEW}")
    _row_above(content["topology"]["groups"][0]["agents"], host=NEW)


def _devices(content: dict[str, Any]) -> None:
    devices = content["topology"]["groups"][0]["devices"]
    devices.insert(0, {**devices[0], "name": "192.0.2.1", "missed_by": [NEW]})


def _same(content: dict[str, Any]) -> None:
    """Change nothing."""


READINGS: dict[str, dict[str, tuple[Change, Change]]] = {
    "": {"/status": (_pending, _statuses)},
    "topology": {"/topology": (_same, _controllers)},
    "loadbalancers": {
        "/loadbalancers": (_same, lambda content: _row_above(content["loadbalancers"], status_reason=NEW))
    },
    "agents": {"/agents": (_same, _shards_wait)},
    f"agents/{AGENT}": {f"/agents/{AGENT}": (_same, _away)},
    "devices": {"/topology": (_same, _devices)},
    "environments": {"/environments": (_same, _halted)},
    "certificates": {"/references": (_references, _unreadable)},
    "networks": {"/subnets": (_two_pools, _reserved)},
    "maintenance": {"/moves": (_moves, _more_moves), "/database": (_histories, _more_histories)},
    f"loadbalancers/{LOAD_BALANCER}": {"/tree": (_tree, _more_listeners), "/agent": (_same, _hosting)},
}
"""By view: the answers that it reads at first and later, with rows, columns and facts more above what was there."""


def test_every_view_keeps_the_nodes_of_what_is_still_there(window: Window, answers: Answers) -> None:
    page = window.page
    window.go()
    replaced = {}
    for view, readings in READINGS.items():
        page.goto(f"{window.url}/ui/#/events")
        for ending, (first, _) in readings.items():
            answers.change(ending, first)
        page.goto(f"{window.url}/ui/#/{view}")
        window.loaded()
        page.evaluate(REMEMBER, USED)
        for ending, (_, later) in readings.items():
            answers.change(ending, later)
        answers.read_again()
        expect(page.locator("main").get_by_text(NEW).first).to_be_attached()
        count, replaced[view] = page.evaluate(REPLACED, USED)
        assert count > 2, view
    assert not {view: names for view, names in replaced.items() if names}
