"""Health monitors. A pool has one, so each is made in a pool of its own."""

from typing import Any

from tests.compat.octavia.stories.lines import changes, delete, get, load_balancer, monitor, pool, post, put
from tests.compat.table import Line

_NOBODY = "5b0c8b3e-3b3d-4c53-9f2c-0d6a1f7f0a77"


def _made() -> list[Line]:
    wanted: list[tuple[str, dict[str, Any]]] = [
        ("HTTP", {}),
        ("HTTP", {"timeout": 20}),
        ("HTTP", {"delay": 2, "timeout": 3}),
        ("HTTP", {"delay": "5", "timeout": "3", "max_retries": "2", "max_retries_down": "4"}),
        ("HTTP", {"delay": 5.0}),
        ("HTTP", {"delay": 0, "timeout": 0}),
        ("HTTP", {"http_version": 1.0}),
        ("HTTP", {"http_version": 1.1}),
        ("HTTP", {"http_version": "1.1", "domain_name": "www.example.com"}),
        ("HTTP", {"http_version": 1}),
        ("HTTP", {"http_version": None, "domain_name": None}),
        ("PING", {"http_version": 1.0}),
        ("TCP", {"http_version": "1.1", "domain_name": "www.example.com"}),
        ("TLS-HELLO", {"http_version": 1.1}),
        ("HTTP", {"url_path": "/index.html?a=b#top"}),
        ("HTTP", {"url_path": "/a b"}),
        ("HTTP", {"url_path": None, "http_method": None, "expected_codes": None}),
        ("HTTP", {"http_method": "HEAD"}),
        ("HTTP", {"http_method": "POST", "expected_codes": "200,202"}),
        ("HTTP", {"expected_codes": "200-299"}),
        ("HTTP", {"expected_codes": "200, 202"}),
        ("HTTP", {"admin_state_up": False}),
        ("HTTP", {"admin_state_up": "no"}),
        ("HTTP", {"name": "hm", "tags": ["a"]}),
        ("HTTP", {"name": None, "tags": None, "max_retries_down": None}),
        ("HTTP", {"type": "HTTPS"}),
        ("HTTP", {"type": "TCP"}),
        ("HTTP", {"type": "PING"}),
        ("HTTP", {"type": "TLS-HELLO"}),
        ("HTTPS", {"type": "HTTPS"}),
        ("TCP", {"type": "TCP"}),
        ("UDP", {"type": "UDP-CONNECT"}),
        ("UDP", {"type": "TCP"}),
        ("UDP", {"type": "HTTP"}),
        ("UDP", {"type": "SCTP"}),
        ("SCTP", {"type": "SCTP"}),
        ("SCTP", {"type": "TCP"}),
        ("SCTP", {"type": "UDP-CONNECT"}),
        ("HTTP", {"project_id": "proj-a"}),
        ("HTTP", {"tenant_id": "proj-a"}),
    ]
    return _each(wanted)


def _each(wanted: list[tuple[str, dict[str, Any]]]) -> list[Line]:
    lines = [load_balancer()]
    for protocol, attributes in wanted:
        lines += [pool(protocol=protocol), monitor(save="", **attributes)]
    return lines


def _refused() -> list[Line]:
    wanted: list[dict[str, Any]] = [
        {"type": "NONSENSE"},
        {"type": None},
        {"type": "UDP-CONNECT"},
        {"type": "SCTP"},
        {"delay": -1},
        {"delay": "soon"},
        {"delay": None},
        {"delay": 1.5},
        {"timeout": -1},
        {"timeout": None},
        {"max_retries": 0},
        {"max_retries": 11},
        {"max_retries": None},
        {"max_retries_down": 0},
        {"max_retries_down": 11},
        {"http_method": "NONSENSE"},
        {"http_method": "get"},
        {"url_path": "nonsense"},
        {"url_path": ""},
        {"url_path": "http://example.com/"},
        {"expected_codes": "nonsense"},
        {"expected_codes": "99"},
        {"expected_codes": "600"},
        {"expected_codes": "200-"},
        {"expected_codes": "300-200"},
        {"expected_codes": 200},
        {"http_version": 2.0},
        {"http_version": "nonsense"},
        {"domain_name": "www.example.com"},
        {"http_version": 1.0, "domain_name": "www.example.com"},
        {"http_version": 1.1, "domain_name": "a b"},
        {"http_version": 1.1, "domain_name": ""},
        {"type": "TCP", "url_path": "/"},
        {"type": "TCP", "http_method": "GET"},
        {"type": "TCP", "expected_codes": "200"},
        {"type": "PING", "http_version": 1.1},
        {"type": "TCP", "domain_name": "www.example.com"},
        {"name": "x" * 256},
        {"tags": ["x" * 256]},
        {"admin_state_up": "perhaps"},
        {"colour": "blue"},
        {"pool_id": "nonsense"},
        {"pool_id": _NOBODY},
        {"pool_id": None},
        {"project_id": "proj-b"},
    ]
    whole = {"pool_id": "{pool}", "type": "HTTP", "delay": 10, "timeout": 5, "max_retries": 3}
    lines = [load_balancer(), pool()]
    lines += [monitor(save="", **attributes) for attributes in wanted]
    for name in whole:
        less = {key: value for key, value in whole.items() if key != name}
        lines.append(post("/healthmonitors", {"healthmonitor": less}))
    return [
        *lines,
        post("/healthmonitors", {"healthmonitor": {}}),
        post("/healthmonitors", {}),
        post("/healthmonitors", {"healthmonitor": None}),
        post("/healthmonitors", "no json"),
        monitor(),
        monitor(save=""),
    ]


def _changed() -> list[Line]:
    wanted: list[dict[str, Any]] = [
        {},
        {"name": "new", "tags": ["b"]},
        {"name": None, "tags": None},
        {"tags": []},
        {"delay": "6"},
        {"delay": None},
        {"timeout": 30},
        {"timeout": None},
        {"max_retries": 5},
        {"max_retries": None},
        {"max_retries_down": 5},
        {"max_retries_down": None},
        {"max_retries": 11},
        {"http_method": "HEAD"},
        {"http_method": None},
        {"http_method": "NONSENSE"},
        {"url_path": "/new"},
        {"url_path": None},
        {"url_path": "nonsense"},
        {"expected_codes": "201"},
        {"expected_codes": None},
        {"expected_codes": "nonsense"},
        {"http_version": 1.1},
        {"domain_name": "www.example.com"},
        {"http_version": 1.0},
        {"http_version": None},
        {"http_version": 1.1},
        {"domain_name": None},
        {"http_version": "1.0", "domain_name": "www.example.com"},
        {"admin_state_up": False},
        {"type": "TCP"},
        {"pool_id": "{pool}"},
        {"project_id": "proj-a"},
        {"colour": "blue"},
    ]
    plain: list[dict[str, Any]] = [{"url_path": "/"}, {"http_method": "GET"}, {"expected_codes": "200"}, {"delay": 7}]
    return [
        load_balancer(),
        pool(),
        monitor(),
        *changes("/healthmonitors/{monitor}", "healthmonitor", wanted),
        get("/healthmonitors/{monitor}"),
        get("/healthmonitors"),
        put("/healthmonitors/{monitor}", {}),
        put("/healthmonitors/{monitor}", {"healthmonitor": None}),
        put("/healthmonitors/nobody", {"healthmonitor": {"name": "x"}}),
        put("/healthmonitors/nobody", {"healthmonitor": {"delay": -1}}),
        put("/healthmonitors", {"healthmonitor": {}}),
        delete("/healthmonitors"),
        delete("/healthmonitors/nobody"),
        get("/healthmonitors/nobody"),
        pool(),
        monitor("plain", type="TCP"),
        *changes("/healthmonitors/{plain}", "healthmonitor", plain),
        delete("/healthmonitors/{monitor}"),
        get("/healthmonitors/{monitor}"),
        delete("/healthmonitors/{monitor}"),
        get("/pools"),
    ]


STORIES = {
    "health monitors made": _made(),
    "health monitors refused": _refused(),
    "health monitors changed, read and deleted": _changed(),
}
