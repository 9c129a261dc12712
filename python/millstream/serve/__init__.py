"""Serving: predictions over HTTP, and online learning from labels that arrive seconds or weeks later.

`Server` serves models over HTTP, `Client` sends requests to it, and `LabelPolicy` determines how labels are joined
with predictions. `feed` sends the messages of a socket or broker to a server, and `asgi` mounts a server in an
ASGI application. The command line has the same server: `millstream serve model.ms --data ./data`.
"""

from __future__ import annotations

from millstream.serve.asgi_application import asgi
from millstream.serve.client import Client, ServeError
from millstream.serve.engine import Engine
from millstream.serve.message_feed import Fed, feed
from millstream.serve.policy import LabelPolicy
from millstream.serve.retention import Retention
from millstream.serve.server import Server

__all__ = ["Client", "Engine", "Fed", "LabelPolicy", "Retention", "ServeError", "Server", "asgi", "feed"]
