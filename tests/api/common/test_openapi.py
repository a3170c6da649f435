"""The OpenAPI document is complete, and the API keeps to it."""

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

import msgspec
import pytest
import requests
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from evenkeel.api.app import ROUTES
from evenkeel.api.common.openapi import Document, openapi_document
from tests.api.client import Client
from tests.api.live import LiveServer

if TYPE_CHECKING:
    from schemathesis import Case
    from schemathesis.schemas import BaseSchema

EXAMPLES, FEW_EXAMPLES = 10, 3
DOCUMENT: Document = msgspec.json.decode(msgspec.json.encode(openapi_document(ROUTES)))

CHECKS = {
    "not_a_server_error": {"expected-statuses": ["2xx", "4xx", "501", "503"]},
    # rules between attributes, and values that must exist, are beyond what a schema can say
    "positive_data_acceptance": {"expected-statuses": ["2xx", "400", "403", "404", "409", "501"]},
    # the document leaves out what every path answers to a method it does not have
    "unsupported_method": {"enabled": True},
}
CONFIG = {"checks": CHECKS, "request-timeout": 120.0}  # its own ten seconds are no more than a machine may stand still
OPERATIONS = [(method, path) for path, operations in DOCUMENT["paths"].items() for method in operations]


def schema_of(document: Document) -> "BaseSchema":
    """Imported here: it takes a second, which only processes that run these tests have to spend."""
    import schemathesis
    from schemathesis.config import SchemathesisConfig

    return schemathesis.openapi.from_dict(document, config=SchemathesisConfig.from_dict(CONFIG))


@cache
def schema() -> "BaseSchema":
    return schema_of(DOCUMENT)


async def test_document_is_served_and_names_every_public_operation_once(api: Client) -> None:
    served = await api.get("/openapi.json")
    assert served == DOCUMENT and served["openapi"] == "3.1.0"
    shown = [operation for route_map in ROUTES for operation in route_map.operations if not operation.hidden]
    found = [operation for path in served["paths"].values() for operation in path.values()]
    assert len(found) == len(shown) == len({operation["operationId"] for operation in found})


def test_every_error_has_a_schema() -> None:
    for path in DOCUMENT["paths"].values():
        for operation in path.values():
            for status, response in operation["responses"].items():
                assert int(status) < 300 or "schema" in response["content"]["application/json"]


def test_schemas_refuse_what_the_decoder_refuses() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    assert schemas["MemberNew"]["additionalProperties"] is False
    assert schemas["MemberNew"]["required"] == ["address", "protocol_port"]
    assert schemas["LoadBalancerNew"]["properties"]["additional_vips"]["anyOf"][0]["maxItems"] == 8


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[LiveServer, requests.Session]]:
    """A server of the module's own, and connections to it."""
    with LiveServer.started(tmp_path_factory.mktemp("openapi")) as server, requests.Session() as session:
        yield server, session


def examples(number: int) -> settings:
    """So many examples of each operation, the same in each run."""
    return settings(
        max_examples=number,
        deadline=None,
        phases=[Phase.generate],
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


def each_operation(test: object) -> object:
    return pytest.mark.parametrize(("method", "path"), OPERATIONS, ids=[" ".join(each) for each in OPERATIONS])(test)


@each_operation
def test_api_keeps_to_its_document(method: str, path: str, live: tuple[LiveServer, requests.Session]) -> None:
    answers_are_of_the_document(method, path, live, FEW_EXAMPLES)


@each_operation
def test_more_requests_keep_to_the_document(method: str, path: str, live: tuple[LiveServer, requests.Session]) -> None:
    answers_are_of_the_document(method, path, live, EXAMPLES)


def answers_are_of_the_document(method: str, path: str, live: tuple[LiveServer, requests.Session], number: int) -> None:
    """For so many requests, of which some fit the document and some do not."""
    from schemathesis import GenerationMode

    server, session = live
    operation = schema()[path][method]

    @examples(number)
    @given(st.one_of([operation.as_strategy(generation_mode=mode) for mode in GenerationMode]))
    def requests_are_answered(case: "Case") -> None:
        case.call_and_validate(base_url=server.url, session=session)

    requests_are_answered()
