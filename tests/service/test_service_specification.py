"""The service against its own specification: requests that schemathesis invents."""

import pytest
from services import running, small_store

schemathesis = pytest.importorskip("schemathesis")

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    store = small_store(tmp_path_factory.mktemp("specification") / "store", 40)
    with running(store.path) as client:
        yield client


@pytest.fixture
def schema(client):
    return schemathesis.openapi.from_url(f"{client.address}/openapi.json")


PATHS = ("/health", "/info", "/nodes", "/similar", "/links", "/add", "/metrics")


def test_invented_requests_are_answered_as_specified(schema):
    from hypothesis import HealthCheck, given, settings
    from schemathesis.checks import not_a_server_error
    from schemathesis.generation import GenerationMode
    from schemathesis.specs.openapi import checks

    expected = [
        not_a_server_error,
        checks.status_code_conformance,
        checks.content_type_conformance,
        checks.response_schema_conformance,
        checks.negative_data_rejection,
    ]
    seen = set()
    for result in schema.get_all_operations():
        operation = result.ok()
        seen.add(operation.path)
        modes = [GenerationMode.POSITIVE]
        if operation.query or operation.body:
            modes.append(GenerationMode.NEGATIVE)
        for mode in modes:

            @given(case=operation.as_strategy(generation_mode=mode))
            @settings(
                max_examples=10,
                deadline=None,
                database=None,
                derandomize=True,
                suppress_health_check=list(HealthCheck),
            )
            def ask(case):
                case.call_and_validate(checks=expected)

            ask()
    assert seen == set(PATHS)
