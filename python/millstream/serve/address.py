"""The address on which a server listens."""

from __future__ import annotations

import os
import socket

from millstream._echo import quoted
from millstream.errors import InvalidValue, MillstreamError

__all__ = ["LAST_PORT", "CannotListen", "check_address", "check_port", "listening_error", "missing_tokens"]

LAST_PORT = 65_535


class CannotListen(MillstreamError, OSError):
    """The address of a server is in use, or does not belong to this machine."""


def check_port(port: object) -> int:
    """Refuse a number that is not a port."""
    if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port <= LAST_PORT:
        raise InvalidValue(f"serve: port must be an integer from 0 to {LAST_PORT}, got {quoted(port)}")
    return port


def listening_error(host: str, port: int, error: OSError) -> CannotListen:
    """The error of a server that cannot listen."""
    reason = os.strerror(error.errno) if error.errno is not None and error.errno > 0 else error.strerror
    reason = " ".join(str(reason or error).split())
    return CannotListen(f"serve: cannot listen on {host} port {port}: {reason[:1].lower()}{reason[1:]}")


def missing_tokens(host: str, require_token: bool | None) -> InvalidValue:
    """The error of a server that requires tokens but has none."""
    why = "tokens are required" if require_token else f"address {host} is not a loopback address"
    return InvalidValue(
        f"serve: {why}, and the folder has no tokens: "
        "create one with `millstream serve --create-token NAME --data FOLDER`"
    )


def check_address(host: str, port: int) -> None:
    """Refuse an address on which a server cannot listen, before it creates its data folder or replays its log."""
    check_port(port)
    failure: OSError = OSError("the host has no address")
    try:
        # As the server does, which listens on the first address of the host that can be bound.
        for family, kind, protocol, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
            try:
                with socket.socket(family, kind, protocol) as probe:
                    if os.name != "nt":
                        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    probe.bind(address)
                return
            except OSError as error:
                failure = error
    except socket.gaierror as error:
        failure = OSError(error.strerror)
    raise listening_error(host, port, failure)
