"""The message broker of Neutron's files, of every release, as our ``transport_url``."""

import pytest

from evenkeel.bus.amqp.nodes import parse_nodes
from evenkeel.cli.config_import.ini_reading import read_ini
from evenkeel.cli.config_import.message_broker import BrokerSettings, find_broker
from evenkeel.cli.config_import.settings import SourceSettings


def broker(text: str) -> BrokerSettings:
    return find_broker(SourceSettings(read_ini(text)))


@pytest.mark.parametrize(
    ("text", "url"),
    [
        pytest.param(
            "[DEFAULT]\nrpc_backend = neutron.openstack.common.rpc.impl_kombu\nrabbit_host = mq\nrabbit_password = p\n",
            "amqp://guest:p@mq:5672/",
            id="Icehouse",
        ),
        pytest.param(
            "[DEFAULT]\nrabbit_hosts = mq1:5673, mq2\nrabbit_userid = u\nrabbit_password = a/b@c$$d\n"
            "rabbit_virtual_host = /net\n",
            "amqp://u:a%2Fb%40c%24d@mq1:5673,u:a%2Fb%40c%24d@mq2:5672/net",
            id="cluster",
        ),
        pytest.param(
            "[DEFAULT]\nrpc_backend = rabbit\nrabbit_host = old\n[oslo_messaging_rabbit]\nrabbit_host = mq\n"
            "rabbit_userid = u\nrabbit_password = p\nrabbit_use_ssl = True\nrabbit_port = 5671\n",
            "amqps://u:p@mq:5671/",
            id="Mitaka with TLS",
        ),
        pytest.param(
            "[DEFAULT]\nmy_ip = 192.0.2.5\nrabbit_host = $my_ip\nrabbit_password =\n",
            "amqp://guest:guest@192.0.2.5:5672/",
            id="reference",
        ),
        pytest.param("[DEFAULT]\nrabbit_host = 2001:db8::7\n", "amqp://guest:guest@[2001:db8::7]:5672/", id="IPv6"),
        pytest.param(
            "[DEFAULT]\ntransport_url = rabbit://u:p@mq//\n[oslo_messaging_rabbit]\nssl = true\n",
            "rabbits://u:p@mq//",
            id="TLS beside the URL",
        ),
        pytest.param("[DEFAULT]\ntransport_url = kombu+rabbit://u:p@mq//?ssl=1\n", "rabbits://u:p@mq//", id="query"),
        pytest.param("[DEFAULT]\nrabbit_ha_queues = True\n", "", id="no broker"),
    ],
)
def test_broker_is_written_as_a_url_that_the_bus_reads(text: str, url: str) -> None:
    found = broker(text)
    assert (found.url, found.problems) == (url, ())
    if url:
        assert parse_nodes(url)


def test_files_of_certificates_are_carried_over() -> None:
    found = broker(
        "[DEFAULT]\ntransport_url = rabbit://u:p@mq//?ssl=1&ssl_ca_file=/x&heartbeat=5\n"
        "[oslo_messaging_rabbit]\nkombu_ssl_certfile = /y\n"
    )
    assert found.url == "rabbits://u:p@mq//?ssl_cert_file=%2Fy&ssl_ca_file=%2Fx"
    assert found.problems == ("transport_url: its option heartbeat has no equivalent, and is left out",)


@pytest.mark.parametrize("text", ["transport_url = zmq://u:secret@mq\n", "rpc_backend = qpid\n"])
def test_broker_of_another_kind_is_a_decision(text: str) -> None:
    found = broker(f"[DEFAULT]\n{text}")
    assert not found.url and "RabbitMQ" in found.problems[0] and "secret" not in found.problems[0]
