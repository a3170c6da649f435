"""What Prometheus is shown, of what a worker says."""

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.health.metrics import render_metrics

STATISTICS = """# pxname,svname,qcur,scur,slim,bin,status,weight,rtime,hrsp_1xx,hrsp_2xx,hrsp_3xx,hrsp_4xx,hrsp_5xx,hrsp_other,conn_tot,req_tot,
one,FRONTEND,,3,100,1234,OPEN,,,0,7,0,1,0,0,9,8,
two,FRONTEND,,1,100,99,STOP,,,,,,,,,4,,
pool,member,0,2,,10,UP 1/3,5,250,0,7,0,0,0,0,,,
pool,other,0,0,,0,MAINT,1,,0,0,0,0,0,0,,,
pool,BACKEND,1,2,20,10,UP,6,250,0,7,0,0,0,0,,,
theirs,FRONTEND,,50,100,1,OPEN,,,0,7,0,1,0,0,9,8,
theirs,BACKEND,1,2,20,10,UP,6,250,0,7,0,0,0,0,,,

"""  # noqa: E501


def balancer() -> wire.LoadBalancerConfig:
    def frontend(name: str) -> wire.Frontend:
        return wire.Frontend(name=name, binds=(), lines=("default_backend pool",))

    def server(name: str) -> wire.BackendServer:
        return wire.BackendServer(name=name, address="10.0.0.1", port=80)

    backend = wire.Backend(name="pool", servers=(server("member"), server("other"), server("just-added")))
    return wire.LoadBalancerConfig(
        id="lb", revision=1, frontends=(frontend("one"), frontend("two"), frontend("new")), backends=(backend,)
    )


def lines() -> list[str]:
    return render_metrics(balancer(), STATISTICS).splitlines()


def test_only_what_is_the_load_balancers_is_there() -> None:
    assert not [line for line in lines() if "theirs" in line]
    assert not [line for line in lines() if "just-added" in line or '"new"' in line]


def test_figures_have_octavias_names_and_labels() -> None:
    found = lines()
    for line in (
        "octavia_loadbalancer_listeners 2",
        "octavia_loadbalancer_current_connections 4",
        "octavia_loadbalancer_connections_total 13",
        "octavia_loadbalancer_requests_total 8",
        'octavia_listener_current_sessions{listener="one"} 3',
        'octavia_listener_bytes_in_total{listener="two"} 99',
        'octavia_listener_http_responses_total{listener="one",code="4xx"} 1',
        'octavia_pool_current_queue{pool="pool"} 1',
        'octavia_member_weight{pool="pool",member="member"} 5',
        'octavia_member_response_time_average_seconds{pool="pool",member="member"} 0.25',
    ):
        assert line in found


def test_a_state_is_one_of_those_that_there_are() -> None:
    found = lines()
    for line in (
        'octavia_listener_status{listener="one",state="UP"} 1',
        'octavia_listener_status{listener="two",state="UP"} 0',
        'octavia_listener_status{listener="two",state="DOWN"} 1',
        'octavia_member_status{pool="pool",member="member",state="UP"} 1',
        'octavia_member_status{pool="pool",member="other",state="MAINT"} 1',
    ):
        assert line in found


def test_metrics_without_a_value_are_left_out() -> None:
    found = lines()
    assert not [line for line in found if "http_requests_total" in line and '"two"' in line]
    assert not [line for line in found if "response_time_average" in line and '"other"' in line]
    assert not [line for line in found if "octavia_pool_downtime" in line]


def test_each_metric_is_explained_once_and_before_its_figures() -> None:
    explained: set[str] = set()
    for line in lines():
        name = line.split(" ")[2] if line.startswith("# TYPE") else ""
        assert name not in explained
        explained |= {name} - {""}
        if not line.startswith("#"):
            assert line.partition("{")[0].partition(" ")[0] in explained


def test_without_any_statistics_there_is_nothing_to_tell_of() -> None:
    assert "octavia_loadbalancer_listeners 0" in render_metrics(balancer(), "")
