import pytest

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.haproxy.config.server_arguments import ServerArguments, parse_server_arguments


@pytest.mark.parametrize(
    ("arguments", "meaning"),
    [
        ((), ServerArguments()),
        (("check", "inter", "5s"), ServerArguments(checked=True)),
        (("check inter 5s port 81",), ServerArguments(checked=True, check_port=81)),
        (("addr", "[fd00::1]", "port", "x"), ServerArguments(check_address="fd00::1")),
        (("ssl", "verify", "none", "sni", "ssl_fc_sni"), ServerArguments(tls=True)),
        (("track", "check/ssl"), ServerArguments(tracks=True)),
        (("cookie", "ssl", "check-sni", "track", "check"), ServerArguments(checked=True)),
        (
            ("send-proxy-v2", "check-ssl", "check-sni", "port", "check"),
            ServerArguments(checked=True, checked_over_tls=True, implied_in_checks=("check-send-proxy",)),
        ),
    ],
)
def test_arguments_are_reported_from_their_values(arguments: tuple[str, ...], meaning: ServerArguments) -> None:
    assert (
        parse_server_arguments(wire.BackendServer(name="s", address="10.0.0.1", port=80, arguments=arguments))
        == meaning
    )
