"""Encoding of requests and replies: JSON, paths, and tables of pandas, polars and Arrow."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from millstream._echo import typed
from millstream.errors import InvalidType, InvalidValue
from millstream.serve.formats import ARROW, NDJSON
from millstream.serve.transport import Response, ServeError

__all__ = [
    "arrow_table",
    "as_json",
    "is_frame",
    "members_of",
    "model_path",
    "read_results",
    "segment",
]


def is_frame(rows: Any) -> bool:
    """Whether rows are a table."""
    return hasattr(rows, "__arrow_c_stream__") or type(rows).__module__.partition(".")[0] == "pandas"


def arrow_table(rows: Any) -> pa.Table:
    """Rows as an Arrow table without an index."""
    try:
        if isinstance(rows, pa.Table):
            return rows
        if type(rows).__module__.partition(".")[0] == "pandas":
            # pandas represents a missing number as NaN, which becomes null here.
            return pa.Table.from_pandas(rows, preserve_index=False)
        return pa.table(rows) if is_frame(rows) else pa.Table.from_pylist([dict(row) for row in rows])
    except (pa.ArrowException, TypeError, ValueError) as error:
        first = str(error).partition("\n")[0]
        raise InvalidType(
            f"serve.Client: rows cannot be converted to an Arrow table ({first}), got {typed(rows)}"
        ) from None


def read_results(body: bytes, content_type: str) -> list[dict[str, Any]]:
    """The results of a batch: one dict per row, without the null members of a table."""
    if content_type.startswith(ARROW):
        with pa.ipc.open_stream(body) as reader:
            rows = reader.read_all().to_pylist()
        return [{name: value for name, value in row.items() if value is not None or name == "y"} for row in rows]
    if content_type.startswith(NDJSON):
        return [json.loads(line) for line in body.splitlines() if line.strip()]
    return list(json.loads(body))


def model_path(name: str) -> str:
    """The path of a model or route."""
    return f"/v1/models/{segment(name)}"


def segment(text: str) -> str:
    """One segment of a path."""
    if not isinstance(text, str) or not text:
        raise InvalidType(f"serve.Client: a name or id must be a non-empty string, got {typed(text)}")
    return quote(text, safe="")


def as_json(value: Any) -> bytes:
    """A value as compact JSON."""
    try:
        return json.dumps(
            value, separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=_plain
        ).encode("utf-8")
    except ValueError as error:
        raise InvalidValue(f"serve.Client: not JSON ({error}); send None for a missing value") from None


def _plain(value: Any) -> Any:
    """A mapping as a dict, a NumPy scalar as a Python number, a missing value of pandas as None."""
    if isinstance(value, Mapping):
        return dict(value)
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    if hasattr(value, "item") and getattr(value, "ndim", 0) == 0:
        plain = value.item()
        if isinstance(plain, (bool, int, str)) or (isinstance(plain, float) and math.isfinite(plain)):
            return plain
    raise InvalidType(f"serve.Client: cannot send {typed(value)} as JSON")


def members_of(response: Response) -> dict[str, Any]:
    """The members of a reply."""
    found = response.json()
    if not isinstance(found, dict):
        raise ServeError(f"expected an object, got {typed(found)}", response.status)
    return found
