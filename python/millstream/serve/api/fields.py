"""Reading and validation of the members of request bodies."""

from __future__ import annotations

import sys
from datetime import datetime
from typing import Any

from millstream._core import parse_json, parse_json_with_raw, write_json
from millstream._echo import quoted, typed
from millstream.errors import MillstreamError
from millstream.serve.names import check_id
from millstream.serve.requests import JSON, Call, Problem

__all__ = [
    "MOST_FEATURES",
    "as_json",
    "check_number",
    "event_time",
    "features",
    "json_body",
    "json_object",
    "object_and_raw",
    "optional_id",
    "weight",
]

#: Maximum number of features of an example.
MOST_FEATURES = 50_000
#: A client's clock may be ahead of the server's by this many milliseconds. A later time is taken for an error.
_AHEAD = 3_600_000


def as_json(value: Any) -> str:
    """Compact JSON text."""
    return write_json(value).decode()


def json_body(call: Call) -> Any:
    """The body as JSON."""
    if call.content_type not in (JSON, "text/json", "application/x-www-form-urlencoded", "text/plain"):
        raise Problem(415, "unsupported-media-type", f"content-type: expected {JSON}, got {call.content_type!r}")
    try:
        return parse_json(call.request.body)
    except MillstreamError as error:
        raise Problem(400, "malformed-json", str(error)) from None


def json_object(call: Call, allowed: tuple[str, ...]) -> dict[str, Any]:
    """The body as a JSON object with no members other than these; an empty body is an empty object."""
    if not call.request.body:
        return {}
    return checked_object(json_body(call), allowed)


def checked_object(value: Any, allowed: tuple[str, ...], where: str = "body") -> dict[str, Any]:
    """An object with no members other than these."""
    if not isinstance(value, dict):
        raise Problem(422, "invalid", f"{where}: must be an object, got {typed(value)}")
    for name in value:
        if name not in allowed:
            known = ", ".join(allowed)
            raise Problem(422, "unknown-member", f"{where}: unknown member {quoted(name)}; members are {known}")
    return value


def object_and_raw(body: bytes, member: str) -> tuple[Any, str | None]:
    """A JSON body, and the text of one of its members as sent."""
    try:
        value, raw = parse_json_with_raw(body, member)
    except MillstreamError as error:
        raise Problem(400, "malformed-json", str(error)) from None
    return value, None if raw is None else raw.decode()


def features(value: Any, where: str = "x") -> dict[str, Any]:
    """The features of an example: an object of numbers, strings, booleans and nulls."""
    if not isinstance(value, dict):
        found = "it is missing" if value is None else f"got {typed(value)}"
        raise Problem(422, "invalid", f"{where}: must be an object of features, {found}")
    check_number(len(value), where)
    return value


def check_number(number: int, where: str) -> None:
    """Refuse too many features."""
    if number > MOST_FEATURES:
        raise Problem(422, "invalid", f"{where}: at most {MOST_FEATURES} features, got {number}")


def optional_id(body: dict[str, Any]) -> str | None:
    """The id that a client chose, if any."""
    return check_id(body["id"]) if body.get("id") is not None else None


def weight(body: dict[str, Any]) -> float:
    """The weight of a label: 1 by default, finite and not negative."""
    w = body.get("weight", 1.0)
    if isinstance(w, bool) or not isinstance(w, (int, float)) or not 0 <= w <= sys.float_info.max:
        raise Problem(422, "invalid", f"weight: must be a finite number >= 0, got {w!r}")
    return float(w)


def event_time(body: dict[str, Any], now: int) -> int | None:
    """The time that a client gives, in milliseconds: from seconds since 1970 or an ISO 8601 string; None if not
    given. It is stored and shown, but closes no window: only the server's clock does."""
    ts = body.get("ts")
    if ts is None:
        return None
    if isinstance(ts, str):
        try:
            moment = datetime.fromisoformat(ts)
        except ValueError:
            raise Problem(
                422, "invalid", f"ts: must be ISO 8601 or seconds since 1970, got {quoted(ts)}"
            ) from None
        if moment.tzinfo is None:
            raise Problem(422, "invalid", f"ts: must have a time zone, got {quoted(ts)}")
        milliseconds = round(moment.timestamp() * 1000)
    elif isinstance(ts, (int, float)) and not isinstance(ts, bool) and -1e12 < ts < 1e12:
        milliseconds = round(ts * 1000)
    else:
        raise Problem(422, "invalid", f"ts: must be ISO 8601 or seconds since 1970, got {ts!r}")
    if milliseconds < 0:
        raise Problem(422, "invalid", f"ts: must not be before 1970, got {ts!r}")
    if milliseconds > now + _AHEAD:
        raise Problem(422, "time-ahead", f"ts: is more than an hour ahead of the server, got {ts!r}")
    return milliseconds
