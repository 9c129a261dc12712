"""Protection against requests from pages of other sites.

A page of another site can send simple requests to an address of this machine without a preflight request. The
header `Origin` contains the origin of the page. DNS rebinding, where a host name is later pointed to this machine,
is detected by the header `Host`, which is checked if no tokens are required.
"""

from __future__ import annotations

import ipaddress
from functools import lru_cache

from millstream.serve.requests import Problem, Request

__all__ = ["check_origin", "is_loopback"]


def check_origin(request: Request, *, open_to_all: bool) -> None:
    """Refuse a request from a page of another site, or for another host if no tokens protect the server."""
    host = request.header("host") or ""
    origin = request.header("origin")
    if origin is not None and origin.partition("://")[2] != host:
        raise Problem(403, "cross-origin", "origin: pages of other sites may not use this server")
    if open_to_all and host and not is_loopback(_without_port(host)):
        raise Problem(403, "wrong-host", "host: without tokens, only loopback names such as localhost are served")


def _without_port(host: str) -> str:
    name, _, port = host.rpartition(":")
    return name.strip("[]") if name and port.isdigit() else host.strip("[]")


@lru_cache(1024)
def is_loopback(host: str) -> bool:
    """Whether a host name or address is a loopback address."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
