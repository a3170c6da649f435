from evenkeel.cmd.options.haproxyd_options import HAPROXYD_OPTIONS
from evenkeel.cmd.options.options import API_OPTIONS
from evenkeel.config.connections import connection_options

DECLARED = connection_options(connections_max=16, per_address_max=1, header_seconds=1.0, spare_files=1)


def test_both_servers_have_the_same_options_of_connections() -> None:
    names = [option.dest for option in DECLARED]
    api, daemon = ({option.dest: option for option in listed} for listed in (API_OPTIONS, HAPROXYD_OPTIONS))
    assert [api[name].default for name in names] == [10.0, 1000, 100]
    assert [daemon[name].default for name in names] == [10.0, 500, 100]
    assert all(api[name].type == daemon[name].type for name in names)
