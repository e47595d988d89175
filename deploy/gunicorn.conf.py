"""For those who start gunicorn themselves: `gunicorn -c deploy/gunicorn.conf.py`.

It serves what `rummy serve` serves, with the same settings (service/server.py has them), and only
with a Redis of its own: the environment has to name one in RUMMY_REDIS_URL. What differs is here;
the command line and GUNICORN_CMD_ARGS come before it.
"""

import os
import sys

from service.config import ConfigError, load_config
from service.processes import usable_cores
from service.server import prepare, settings

try:
    _config = load_config(os.environ)
    prepare(_config)
except ConfigError as error:
    sys.exit(f"The environment cannot be used:\n{error}")
if _config.redis_url is None:
    sys.exit("RUMMY_REDIS_URL is not set: only `rummy serve` starts a store of its own.")

globals().update(settings(_config))

wsgi_app = "service.server:application()"
bind = "127.0.0.1:8000"
workers = usable_cores()
