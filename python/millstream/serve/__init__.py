"""Serving: models that answer now and learn when the truth arrives, seconds or weeks later, each label once.

`Server` serves models over HTTP, `Client` talks to it, and `LabelPolicy` says how labels join predictions. `asgi`
mounts a server in an ASGI application. On the command line: `millstream serve model.ms --data ./data`.
"""

from __future__ import annotations

from millstream.serve.asgi_application import asgi
from millstream.serve.client import Client, ServeError
from millstream.serve.engine import Engine
from millstream.serve.policy import LabelPolicy
from millstream.serve.retention import Retention
from millstream.serve.server import Server

__all__ = ["Client", "Engine", "LabelPolicy", "Retention", "ServeError", "Server", "asgi"]
