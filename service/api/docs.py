"""Swagger UI and the contract as pages of the service, with nothing fetched from elsewhere.

Every address in them is relative, so that they work under any path prefix.
"""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

from flask import Blueprint, Flask, Response, abort, request, send_file

_OWN = Path(__file__).parent
_SWAGGER_UI = Path(str(files("flask_swagger_ui"))) / "dist"
_ASSETS = {
    "docs.css": _OWN,
    "docs.js": _OWN,
    "favicon-32x32.png": _SWAGGER_UI,
    "pages.css": _OWN,
    "swagger-ui-bundle.js": _SWAGGER_UI,
    "swagger-ui.css": _SWAGGER_UI,
}
"""What this page and those of `pages` load, and where it lies; nothing else is given out."""

# Swagger UI draws its icons as data: images, and nothing in it needs inline scripts.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
    " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def register(app: Flask, document: dict[str, Any], replays: dict[str, Any]) -> None:
    """Serve the contract at /openapi.json, Swagger UI for it at /docs, and the replays' schema."""
    contract = json.dumps(document, ensure_ascii=False).encode()
    schema = json.dumps(replays, ensure_ascii=False).encode()
    pages = Blueprint("docs", __name__)

    @pages.get("/")
    def index() -> Response:
        return _moved("docs")

    @pages.get("/openapi.json")
    def openapi() -> Response:
        return _document(contract)

    @pages.get("/replay.schema.json")
    def replay_schema() -> Response:
        return _document(schema)

    @pages.get("/docs")
    def docs() -> Response:
        response = send_file(_OWN / "docs.html")
        response.headers["Content-Security-Policy"] = _POLICY
        return response

    @pages.get("/docs/")
    def docs_directory() -> Response:
        return _moved("../docs")

    @pages.get("/docs/<name>")
    def asset(name: str) -> Response:
        directory = _ASSETS.get(name)
        return abort(404) if directory is None else send_file(directory / name)

    app.register_blueprint(pages)


def _document(content: bytes) -> Response:
    response = Response(content, mimetype="application/json")
    response.headers["Cache-Control"] = "no-cache"
    response.add_etag()
    response.make_conditional(request)
    return response


def _moved(location: str) -> Response:
    return Response(status=302, headers={"Location": location})
