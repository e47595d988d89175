"""The composition root: the Flask app with everything it needs, made from a configuration."""

from collections.abc import Callable, Mapping
from typing import Any
from wsgiref.types import WSGIApplication

from flask import Flask
from werkzeug.middleware.proxy_fix import ProxyFix

from service import api, tracing
from service.api import cors, rate_limits
from service.api.deprecation import DEPRECATED, Deprecated
from service.api.observation import Observed
from service.config import Config
from service.servers import Servers
from service.store import Store
from service.tables import Tables
from service.watch import Watch


def create_app(
    config: Config,
    stopping: Callable[[], bool] | None = None,
    deprecated: Mapping[str, Deprecated] = DEPRECATED,
) -> Flask:
    """The service as a WSGI app. `config.redis_url` must name a store; it need not be up yet.

    `stopping` says whether the process is about to end, so that nobody is kept waiting then.
    `deprecated` has the operations that will go some day, by operationId.
    """
    app = _Flask("service", static_folder=None)
    app.url_map.merge_slashes = False
    app.config["MAX_CONTENT_LENGTH"] = config.max_body_bytes
    app.config["METRICS"] = config.metrics
    app.config["PROXIES"] = config.proxies
    app.config["STOPPING"] = stopping
    servers = Servers.named_in(config)
    store = Store.configured(servers, config)
    tables = Tables(store, Watch(servers, stopping))
    api.register(app, tables, deprecated)
    if config.rate_limits:
        rate_limits.register(app, config)
    if config.cors_origins:
        cors.register(app, config.cors_origins)
    if config.tracing:
        tracing.trace(app, tables)
    wsgi_app: WSGIApplication = app.wsgi_app
    if config.proxies:
        hops = config.proxies
        wsgi_app = ProxyFix(wsgi_app, x_for=hops, x_proto=hops, x_host=hops, x_prefix=hops)
    # Flask means this attribute to be wrapped, but its type is that of a method.
    app.wsgi_app = Observed(wsgi_app)  # type: ignore[method-assign]
    return app


class _Flask(Flask):
    def ensure_sync(self, func: Callable[..., Any]) -> Callable[..., Any]:
        """Nothing here is async: Flask would look whether it is, a dozen times for each request."""
        return func
