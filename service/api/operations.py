"""The endpoints for those who run the service."""

from contextlib import suppress

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
    get no requests. One that is `busy`, or whose store is `read_only`, is ready: it serves as well
    as it can, and no other would serve better.
    """
    stopping = current_app.config["STOPPING"]
    if stopping and stopping():
        raise errors.Stopping(Text("This process is about to end; ask another one."))
    condition = tables().condition()
    return answer(Readiness("ok", busy=condition.busy, read_only=condition.read_only))


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
    response = Response(metrics.exposition(*_in_store()), content_type=metrics.CONTENT_TYPE)
    response.headers["Cache-Control"] = "no-store"
    return response


def _in_store() -> tuple[dict[str, int], dict[str, float]]:
    """The games by how they stand, and what else is known of them; nothing while it is not."""
    census = None
    with suppress(errors.StoreUnavailable):
        census = tables().census()
    if census is None:
        return {}, {}
    oldest = census.overdue_since or census.taken_at
    games: dict[str, int] = dict(census.games.items())
    return games | {"unreadable": census.unreadable}, {
        "rummy_overdue_seconds": (census.taken_at - oldest) / 1000,
        "rummy_census_age_seconds": max(0, tables().clock() - census.taken_at) / 1000,
        "rummy_census_seconds": census.took_seconds,
    }


ANSWERS = (Health, Readiness)
"""The structures that these endpoints answer with, for the contract."""
