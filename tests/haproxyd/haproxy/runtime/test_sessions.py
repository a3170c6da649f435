from evenkeel.haproxyd.haproxy.runtime.sessions import session_shutdown_commands

LISTED = (
    "0x55bbf6493980: proto=tcpv4 src=127.0.0.1:48962 fe=lb_f be=lb_b srv=a ts=00 epoch=0 age=2s calls=2 rate=1\n"
    "0x55bbf64946e0: proto=tcpv6 src=::1:48966 fe=lb_f be=lb_b srv=ab ts=00 epoch=0 age=2s calls=2 rate=1\n"
    "0x55bbf64950a0: proto=tcpv4 src=127.0.0.1:48968 fe=lb_f be=lb_c srv=a ts=00 epoch=0 age=2s calls=2 rate=1\n"
    "0x55bbf6495310: proto=sockpair src=unix:2 fe=GLOBAL be=<NONE> srv=<none> ts=00 epoch=0 age=0s calls=1\n"
    "\n"
)
"""``show sess`` of HAProxy 2.6, with shortened lines."""


def test_sessions_of_these_servers_are_ended_and_no_others() -> None:
    assert list(session_shutdown_commands(LISTED, [("lb_b", "a")])) == ["shutdown session 0x55bbf6493980"]
    assert len(list(session_shutdown_commands(LISTED, [("lb_b", "ab"), ("lb_c", "a"), ("lb_c", "ab")]))) == 2
    assert list(session_shutdown_commands(LISTED, [])) == []


def test_an_answer_that_lists_no_session_ends_none() -> None:
    assert list(session_shutdown_commands("\n", [("lb_b", "a")])) == []
    assert list(session_shutdown_commands("Permission denied\n\n", [("lb_b", "a")])) == []
