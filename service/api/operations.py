"""The endpoints for those who run the service."""

from flask import Response, abort, current_app, request

from service import errors, metrics
from service.api.http import PLAIN, Blueprint, answer, tables
from service.text import Text
from service.views import Health, Readiness

operations = Blueprint("operations", __name__, description="For those who run the service.")


@operations.route("/healthz", methods=["GET"])
@operations.response(200, "Health", description="It is.")
@operations.doc(operationId="getHealth", security=[])
def healthz() -> Response:
    """Whether the process is up

    Never asks the store: a process is not broken because its store is.
    """
    return answer(Health("ok"))


@operations.route("/readyz", methods=["GET"])
@operations.response(200, "Readiness", description="It can.")
@operations.refuses(errors.StoreUnavailable, errors.Stopping)
@operations.doc(operationId="getReadiness", security=[])
def readyz() -> Response:
    """Whether the service can serve

    Refused if the store does not answer in time, or if this process is about to end: then it should
    get no requests. It can serve as well as any other if it is `busy` or the store is `read_only`,
    so go on sending it requests.
    """
    stopping = current_app.config["STOPPING"]
    if stopping and stopping():
        raise errors.Stopping(Text("This process is about to end; ask another one."))
    return answer(Readiness(tables().readiness()))


@operations.route("/metrics", methods=["GET"])
@operations.response(
    200,
    {"type": "string", "description": "A line for each value, with its labels."},
    content_type=PLAIN,
    description="The metrics.",
)
@operations.refuses(http=(404,))
@operations.doc(operationId="getMetrics", security=[])
def counted() -> Response:
    """What the service has counted, for Prometheus

    Summed over all workers of this process, in the text format of Prometheus. Not for everybody:
    nothing is found here if the request came through a proxy, or metrics are turned off.
    """
    config = current_app.config
    came_through_proxy = config["PROXIES"] and "X-Forwarded-For" in request.headers
    if not config["METRICS"] or came_through_proxy:
        abort(404)
    response = Response(metrics.exposition(), content_type=metrics.CONTENT_TYPE)
    response.headers["Cache-Control"] = "no-store"
    return response


ANSWERS = (Health, Readiness)
"""The structures that these endpoints answer with, for the contract."""
