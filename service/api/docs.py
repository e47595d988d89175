"""Swagger UI and the contract as pages of the service, with nothing fetched from elsewhere."""

from flask import Flask


def register(app: Flask) -> None:
    """Serve /docs and /openapi.json."""
