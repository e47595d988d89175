"""The endpoints for those who run the service."""

from flask import Response

from service import errors
from service.api.http import Blueprint, answer, tables
from service.views import Health

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
@operations.response(200, "Health", description="It is.")
@operations.refuses(errors.StoreUnavailable)
@operations.doc(operationId="getReadiness", security=[])
def readyz() -> Response:
    """Whether the service can serve

    Asks the store, and refuses if that does not answer in time.
    """
    tables().check_store()
    return answer(Health("ok"))


ANSWERS = (Health,)
"""The structures that these endpoints answer with, for the contract."""
