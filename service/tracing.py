"""Spans for OpenTelemetry, from the request through the use case to Redis.

An extra: `pip install 'rummy-service[otel]'`. Where the spans go, and how many of them, is said by
OpenTelemetry's own variables, such as OTEL_EXPORTER_OTLP_ENDPOINT and OTEL_TRACES_SAMPLER.
"""

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from importlib.util import find_spec
from typing import Any

import service
from service import current
from service.errors import RummyError

_PACKAGES = (
    "opentelemetry.sdk",
    "opentelemetry.exporter.otlp.proto.http",
    "opentelemetry.instrumentation.flask",
)
_TOO_SMALL = {"expires_at", "tag"}
"""Of the use cases those that only calculate."""
_ADDRESSES = {"http.target", "http.url", "url.full", "url.path", "url.query"}
"""What the address of a request is called, by the older conventions and by those of now."""


def is_installed() -> bool:
    """Whether the extra is there."""
    try:
        return all(find_spec(package) for package in _PACKAGES)
    except ModuleNotFoundError:
        return False


def trace(app: Any, tables: object) -> None:
    """Let a Flask app and its use cases tell what they do, and this process what it asks Redis for.

    For a worker: what sends the spans is a thread, which no fork inherits.
    """
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.instrumentation.flask import FlaskInstrumentor
    from opentelemetry.sdk.resources import OTELResourceDetector, Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    own = Resource.create({"service.name": "rummy", "service.version": service.__version__})
    # What OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES say counts for more.
    provider = TracerProvider(resource=own.merge(OTELResourceDetector().detect()))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    FlaskInstrumentor.instrument_app(  # type: ignore[no-untyped-call]
        app, tracer_provider=provider, request_hook=_note_trace, response_hook=_describe
    )
    # Imported here: the master only asks whether the extra is there.
    from service.redis_server import Server

    tracer = provider.get_tracer("service", service.__version__)
    Server.answers = _traced_trip(tracer, Server.answers)  # type: ignore[method-assign]
    for name, method in inspect.getmembers(type(tables), inspect.isfunction):
        is_use_case = not (name.startswith("_") or inspect.isgeneratorfunction(method))
        if is_use_case and name not in _TOO_SMALL:
            setattr(tables, name, _traced(tracer, name, getattr(tables, name)))


def _traced(tracer: Any, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def traced(*args: Any, **kwargs: Any) -> Any:
        with tracer.start_as_current_span(
            f"tables.{name}", record_exception=False, set_status_on_exception=False
        ) as span:
            try:
                return method(*args, **kwargs)
            except RummyError as refusal:  # which is no error of ours
                span.set_attribute("rummy.code", refusal.code)
                raise

    return traced


def _traced_trip(tracer: Any, answers: Callable[..., Any]) -> Callable[..., Any]:
    """A round trip to Redis, named by its commands; their arguments are nobody's business."""
    from opentelemetry.trace import SpanKind

    @wraps(answers)
    def traced(server: object, commands: Sequence[tuple[Any, ...]]) -> Any:
        with tracer.start_as_current_span(
            " ".join(str(command[0]) for command in commands),
            kind=SpanKind.CLIENT,
            attributes={"db.system.name": "redis"},
            record_exception=False,
        ):
            return answers(server, commands)

    return traced


def _note_trace(span: Any, _environ: object) -> None:
    """Let the log say which trace a request belongs to."""
    seen = current.request()
    if seen is not None and span.is_recording():
        seen.trace = f"{span.get_span_context().trace_id:032x}"


def _describe(span: Any, _status: str, _headers: object) -> None:
    """Say in the span of a request what the log says of it."""
    seen = current.request()
    if seen is None or not span.is_recording():
        return
    # The address as it was sent may have anything in it, a token too.
    for name in _ADDRESSES & span.attributes.keys():
        span.set_attribute(name, seen.route or "-")
    if seen.route is None:  # or it would be named by it
        span.update_name(seen.operation)
    for name in ("operation", "game", "seat", "code"):
        if (value := getattr(seen, name)) is not None:
            span.set_attribute(f"rummy.{name}", value)
    span.set_attribute("rummy.request_id", seen.id)
