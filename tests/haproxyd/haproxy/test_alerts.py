"""HAProxy's words, as they are passed on."""

import pytest

from evenkeel.haproxyd.haproxy.alerts import extract_alerts


@pytest.mark.parametrize(
    ("line", "passed_on"),
    [
        ("[ALERT]    (24434) : (null)out of memory.", "out of memory: more than memory_max allows"),
        (
            "[ALERT]    (1) : config : parsing [/x/y.cfg:3] : not enough memory",
            "not enough memory: more than memory_max",
        ),
        ("[ALERT]    (1) : config : Error(s) found in configuration file : /x/y.cfg", ""),
        (
            "[ALERT]    (1) : config : parsing [/x/y.cfg:3] : unknown keyword 'a' in '/x/y'",
            "unknown keyword 'a' in 'y'",
        ),
        ("[WARNING]  (1) : out of memory", ""),
        (
            "[ALERT]    (1) : config : parsing [/x/y.cfg:8] : 'bind 127.0.0.1:80' in section 'frontend' : \n"
            "  'crt-list' : unable to load certificate from file '/x/a.pem': bad end line.\n"
            "  unable to load key '/x/a.pem'.\n[ALERT]    (1) : config : Fatal errors found in configuration.",
            "'bind 127.0.0.1:80' in section 'frontend' : 'crt-list' : unable to load certificate from file 'a.pem': "
            "bad end line.; unable to load key 'a.pem'.",
        ),
    ],
)
def test_useful_part_of_an_alert_is_kept(line, passed_on):
    assert extract_alerts(line).removesuffix(" allows") == passed_on.removesuffix(" allows")
