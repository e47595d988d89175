"""Spans for OpenTelemetry: what a request does, down to Redis, and nothing secret in them."""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.patience import until
from tests.serving import rummy
from tests.watched import Watched, watching

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc")


class Collector(ThreadingHTTPServer):
    """Takes spans as a collector does, over OTLP."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Taking)
        self.spans: list[Span] = []
        self.services: set[str] = set()
        self.bytes = b""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Taking(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        sent = self.rfile.read(int(self.headers["Content-Length"]))
        batch = ExportTraceServiceRequest.FromString(sent)
        self.server.bytes += sent
        for resource in batch.resource_spans:
            told = values(resource.resource.attributes)
            self.server.services.add(f"{told['service.name']} {told['service.version']}")
            self.server.spans += [span for scope in resource.scope_spans for span in scope.spans]
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def values(attributes: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in attributes}


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    with Collector() as server, ThreadPoolExecutor(1) as thread:
        thread.submit(server.serve_forever)
        yield server
        server.shutdown()


@pytest.fixture(scope="module")
def service(tmp_path_factory, collector) -> Iterator[Watched]:
    with watching(
        tmp_path_factory.mktemp("traced"),
        "--workers=2",
        RUMMY_TRACING="true",
        RUMMY_LOG_LEVEL="info",
        RUMMY_LOG_FORMAT="json",
        OTEL_EXPORTER_OTLP_ENDPOINT=collector.url,
        OTEL_EXPORTER_OTLP_COMPRESSION="none",
        OTEL_BSP_SCHEDULE_DELAY="100",
    ) as watched:
        yield watched


def of_request(collector: Collector, own: str) -> Span:
    """The span of the request with that id."""

    def found() -> list[Span]:
        return [
            span
            for span in collector.spans
            if values(span.attributes).get("rummy.request_id") == own
        ]

    until(found)
    (span,) = found()
    return span


def below(collector: Collector, span: Span) -> list[Span]:
    """What was done in it."""
    return sorted(
        (one for one in collector.spans if one.parent_span_id == span.span_id),
        key=lambda one: one.start_time_unix_nano,
    )


def test_a_move_is_a_request_a_use_case_and_a_round_trip_or_two(service, collector):
    game, (first, _) = service.sandbox()
    answer = service.post(f"{game}/draw", {"from": "stock"}, headers=first)
    own = answer.headers["X-Request-ID"]
    span = of_request(collector, own)
    told = values(span.attributes)
    assert span.kind == Span.SpanKind.SPAN_KIND_SERVER
    assert span.name == "POST /v1/games/<game_id>/draw"
    assert (told["rummy.operation"], told["rummy.seat"]) == ("draw", 0)
    assert told["rummy.game"] == game.rpartition("/")[2]
    (use_case,) = [one for one in below(collector, span) if one.name == "tables.play"]
    *loads, commit = below(collector, use_case)
    assert [load.name for load in loads] in ([], ["HMGET"])  # the worker may know the game already
    assert commit.name == "EVALSHA"
    assert {trip.kind for trip in (*loads, commit)} == {Span.SpanKind.SPAN_KIND_CLIENT}
    assert service.request_line(answer)["trace_id"] == span.trace_id.hex()
    assert collector.services == {"rummy 0.1.0"}


def test_a_look_at_many_games_is_one_round_trip_with_all_of_them(service, collector):
    tokens = [service.post("/v1/sandbox", {}).json()["seats"][0]["token"] for _ in range(3)]
    answer = service.post("/v1/games/query", {"tokens": tokens})
    span = of_request(collector, answer.headers["X-Request-ID"])
    (use_case,) = [one for one in below(collector, span) if one.name == "tables.games_of"]
    assert [trip.name for trip in below(collector, use_case)] == ["HGET HGET HGET"]


def test_a_refusal_has_its_code_and_is_no_error(service, collector):
    game, (_, second) = service.sandbox()
    answer = service.post(f"{game}/draw", {"from": "stock"}, headers=second)
    span = of_request(collector, answer.headers["X-Request-ID"])
    assert values(span.attributes)["rummy.code"] == "not_your_turn"
    (use_case,) = [one for one in below(collector, span) if one.name == "tables.play"]
    assert values(use_case.attributes)["rummy.code"] == "not_your_turn"
    assert use_case.status.code == 0
    assert not use_case.events


def test_a_trace_that_began_elsewhere_goes_on_here(service, collector):
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    parent = {"traceparent": f"00-{trace}-00f067aa0ba902b7-01"}
    answer = service.get("/v1/variants", headers=parent)
    assert of_request(collector, answer.headers["X-Request-ID"]).trace_id.hex() == trace


def test_nothing_secret_is_in_a_span(service, collector):
    key = "key-that-opens-a-seat-again"
    body = {"variant": "straight", "name": "Zenobia", "options": {"deals": 1}, "private": True}
    made = service.post("/v1/games", body, headers={"Idempotency-Key": key}).json()
    game = f"/v1/games/{made['game']['id']}"
    taking = {"name": "Xanthippe", "invitation": made["invitation"], "entropy": "HTTHTHHT"}
    joined = service.post(f"{game}/join", taking).json()
    header = {"Authorization": f"Bearer {made['token']}", "Idempotency-Key": key}
    service.post(f"{game}/draw", {"from": "stock"}, headers=header)
    service.post("/v1/games/query", {"tokens": [made["token"], joined["token"]]})
    # Where a token has no place it is refused, and not told either.
    service.get(f"{game}?token={joined['token']}")
    service.get(f"/v1/games/{made['token']}")
    nowhere = service.get(f"/of/{joined['token']}")
    assert of_request(collector, nowhere.headers["X-Request-ID"]).name == "none"
    last = service.get(f"{game}/moves", headers={"Authorization": f"Bearer {joined['token']}"})
    of_request(collector, last.headers["X-Request-ID"])
    secrets = [made["token"].partition(".")[2], joined["token"].partition(".")[2]]
    secrets += [key, made["invitation"], "Zenobia", "Xanthippe", "HTTHTHHT", "straight"]
    assert not [secret for secret in secrets if secret.encode() in collector.bytes]


def test_where_nobody_takes_the_spans_all_goes_on_and_ends_in_time(tmp_path):
    nowhere = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}
    with watching(tmp_path, "--workers=1", RUMMY_TRACING="true", **nowhere) as service:
        game, (first, _) = service.sandbox()
        assert service.post(f"{game}/draw", {"from": "stock"}, headers=first).status_code == 200
        service.process.terminate()
        service.process.wait(10)
        assert service.process.returncode == 0


def test_without_the_extra_the_start_says_what_is_missing(tmp_path):
    (tmp_path / "opentelemetry").mkdir()
    (tmp_path / "opentelemetry" / "__init__.py").touch()  # hides the one that is installed
    ended = rummy("serve", f"--data-dir={tmp_path}", RUMMY_TRACING="true", PYTHONPATH=str(tmp_path))
    assert ended.returncode == 2
    assert "pip install 'rummy-service[otel]'" in ended.stderr
    assert ended.stderr.count("\n") == 2
    assert not (tmp_path / "lock").exists()  # nothing was started
