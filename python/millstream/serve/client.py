"""`serve.Client`: talks to a server, and sends again what failed without predicting or learning anything twice."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import pyarrow as pa

from millstream._echo import typed
from millstream.errors import InvalidType, InvalidValue
from millstream.serve.administration import Administration
from millstream.serve.encoding import (
    ARROW,
    NDJSON,
    arrow_table,
    as_json,
    is_frame,
    model_path,
    read_results,
    segment,
    table_bytes,
)
from millstream.serve.names import new_id
from millstream.serve.transport import Response, ServeError, Transport

__all__ = ["Client", "ServeError"]

#: Members of a row in Arrow format, which cannot be features there.
_MEMBERS = ("id", "key", "ts", "trace")


class Client(Administration):
    """A client of a millstream server.

    Requests are sent again after connection errors, timeouts and the statuses 429, 502, 503, 504 and 507. The
    pauses between attempts grow and respect `Retry-After`. Retries are safe: a prediction gets its id before the
    first attempt, and labels and examples are identified by ids, so that the server recognises a repeated request.
    Requests that change models or routes are sent again only if the server cannot have run them. All other errors
    raise `ServeError`.

    The methods return the members of the server's answer as dicts. A client may be used in several threads; each
    has a connection of its own. Redirects are not followed, and proxy settings of the environment are not read.

    Parameters
    ----------
    url
        The address of the server.
    token
        The access token, if the server needs one.
    timeout
        Seconds to wait for a connection and for each part of an answer.
    retries
        Number of further attempts.

    Examples
    --------
    >>> import tempfile
    >>> from millstream import linear_model, serve
    >>> with tempfile.TemporaryDirectory() as data:
    ...     with serve.Server(linear_model.LogisticRegression(), data=data, port=0) as server:
    ...         client = serve.Client(server.url)
    ...         answer = client.predict("model", {"hour": 7})
    ...         client.label("model", answer["id"], True)["fate"]
    ...         client.label("model", answer["id"], True)["fate"]
    'learned'
    'duplicate'
    """

    def __init__(self, url: str, token: str | None = None, *, timeout: float = 10, retries: int = 5) -> None:
        self._transport = Transport(url, token, timeout, retries)

    def __repr__(self) -> str:
        return f"serve.Client({self._transport.url!r})"

    @property
    def url(self) -> str:
        """The address of the server."""
        return self._transport.url

    def close(self) -> None:
        """Close the connection of this thread; the next request opens one again."""
        self._transport.close()

    # -------------------------------------------------------------------------------------- predict and label

    def predict(
        self,
        model: str,
        x: Mapping[str, Any],
        *,
        id: str | None = None,
        key: str | None = None,
        ts: float | str | None = None,
        wait: Literal["durable"] | None = None,
        trace: str | None = None,
        defer: bool = False,
    ) -> dict[str, Any]:
        """Predict one example with a model or route.

        Parameters
        ----------
        model
            The name of a model or route.
        x
            The features: numbers, strings, booleans, and None for a missing value.
        id
            The id under which the label will be sent; made here if it is not given.
        key
            On a route, the model that answers is chosen by this key instead of by the id.
        ts
            The time of the event: seconds since 1970, or ISO 8601 with a time zone.
        wait
            With "durable" the answer comes after the event is on disk.
        trace
            A W3C `traceparent`, stored with the event.
        defer
            Whether the label is learned only after `activate`: for a prediction that may not be used.

        Returns
        -------
        A dict with the `id`, the prediction `y`, the number `seq` of the last record that the model had learned,
        and `proba` if the model predicts probabilities.
        """
        body = {"id": id or _new_id(), "key": key, "x": x, "ts": ts, "trace": trace, "defer": defer or None}
        path = f"{model_path(model)}/predict" + _waiting(wait)
        return self._object("POST", path, {name: value for name, value in body.items() if value is not None})

    def predict_many(
        self,
        model: str,
        rows: Any,
        *,
        ids: Sequence[str] | None = None,
        format: Literal["ndjson", "arrow"] | None = None,
        batch_size: int = 1000,
        wait: Literal["durable"] | None = None,
    ) -> list[dict[str, Any]]:
        """Predict many examples.

        Parameters
        ----------
        model
            The name of a model or route.
        rows
            A list of dicts, or a pandas, polars or Arrow table.
        ids
            The id of each row; made here if they are not given.
        format
            How rows are sent: by default "arrow" for tables and "ndjson" for dicts.
        batch_size
            Number of rows in a request.
        wait
            With "durable" the answers come after the events are on disk.

        Returns
        -------
        One dict for each row, as of `predict`. The dict of a row that was refused has its index as `item`, and
        `status` and `detail` instead of `y`.
        """
        _checked_size(batch_size)
        if format not in (None, "ndjson", "arrow"):
            raise InvalidValue(f"serve.Client: format must be 'ndjson' or 'arrow', got {format!r}")
        table = arrow_table(rows) if is_frame(rows) or format == "arrow" else None
        examples: Any = () if table is not None else list(rows)
        if table is not None and format == "ndjson":
            examples, table = table.to_pylist(), None
        number = len(examples) if table is None else table.num_rows
        names = [_new_id() for _ in range(number)] if ids is None else list(ids)
        if len(names) != number:
            raise InvalidValue(f"serve.Client: ids must have one id per row, got {len(names)} for {number} rows")
        path = f"{model_path(model)}/predict:batch" + _waiting(wait)
        results: list[dict[str, Any]] = []
        for start in range(0, number, batch_size):
            some = names[start : start + batch_size]
            if table is None:
                part = examples[start : start + batch_size]
                items = [{"id": id, "x": x} for id, x in zip(some, part, strict=True)]
                response = self._send_lines(path, items)
            else:
                part = table.slice(start, batch_size)
                response = self._send_table(path, part, some)
            found = _results(response, len(some))
            for index, result in enumerate(found):
                if response.attempts > 1 and result.get("status") == 409:
                    # An earlier attempt stored the event, and its answer was lost.
                    x = part[index] if table is None else part.slice(index, 1).to_pylist()[0]
                    found[index] = self.predict(model, x, id=some[index])
                elif "status" in result:
                    result["item"] = start + index
            results += found
        return results

    def label(
        self,
        model: str,
        id: str,
        y: Any,
        *,
        weight: float | None = None,
        ts: float | str | None = None,
        x: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Send the label of an event. It is on disk when this returns.

        Parameters
        ----------
        model
            The model or route that was asked.
        id
            The id of the prediction.
        y
            The label.
        weight
            The weight of the example.
        ts
            The time of the label: seconds since 1970, or ISO 8601 with a time zone.
        x
            The features, for an event that the server does not know any more.

        Returns
        -------
        A dict with the `fate` of the label and the number `seq` of its record. A label that was sent before has
        the fate "duplicate". A label that is refused raises `ServeError`, whose `problem` has the fate.
        """
        body = {"y": y, "weight": weight, "ts": ts, "x": x}
        kept = {name: value for name, value in body.items() if value is not None or name == "y"}
        return self._object("PUT", f"{model_path(model)}/labels/{segment(id)}", kept)

    def labels(self, model: str, items: Iterable[Any], *, batch_size: int = 1000) -> list[dict[str, Any]]:
        """Send many labels.

        Parameters
        ----------
        model
            The model or route that was asked.
        items
            Pairs of an id and a label, or dicts with `id`, `y` and optionally `weight`, `ts` and `x`.
        batch_size
            Number of labels in a request.

        Returns
        -------
        One dict for each label with its `id`, `status` and `fate`.
        """
        labels = [item if isinstance(item, Mapping) else _pair(item) for item in items]
        results: list[dict[str, Any]] = []
        for start in range(0, len(labels), _checked_size(batch_size)):
            part = labels[start : start + batch_size]
            found = _results(self._send_lines(f"{model_path(model)}/labels", part), len(part))
            for index, result in enumerate(found):
                if "item" in result:
                    result["item"] = start + index
            results += found
        return results

    def learn(
        self,
        model: str,
        x: Mapping[str, Any],
        y: Any,
        *,
        id: str | None = None,
        weight: float | None = None,
        ts: float | str | None = None,
    ) -> dict[str, Any]:
        """Send a labelled example that was not predicted. It is learned once for each id."""
        body = {"id": id or _new_id(), "x": x, "y": y, "weight": weight, "ts": ts}
        kept = {name: value for name, value in body.items() if value is not None or name == "y"}
        return self._object("POST", f"{model_path(model)}/learn", kept)

    def event(self, model: str, id: str) -> dict[str, Any]:
        """Show an event: its features as served, its prediction, and the state of its label."""
        return self._object("GET", f"{model_path(model)}/events/{segment(id)}")

    def activate(self, model: str, id: str) -> dict[str, Any]:
        """Activate a deferred event: from now on its label is learned."""
        return self._object("POST", f"{model_path(model)}/events/{segment(id)}/activate")

    def forget(self, model: str, id: str) -> dict[str, Any]:
        """Forget an event: a label that arrives later is not learned."""
        return self._object("DELETE", f"{model_path(model)}/events/{segment(id)}", repeatable=False)

    def progress(self, model: str, seq: int) -> dict[str, Any]:
        """Show whether a record is on disk and applied."""
        return self._object("GET", f"{model_path(model)}/progress?seq={int(seq)}")

    # -------------------------------------------------------------------------------------------------- sending

    def _send_lines(self, path: str, items: list[Any]) -> Response:
        data = b"".join(as_json(item) + b"\n" for item in items)
        return self._transport.request("POST", path, data, NDJSON)

    def _send_table(self, path: str, table: pa.Table, ids: list[str]) -> Response:
        taken = [name for name in table.column_names if name in _MEMBERS]
        if taken:
            raise InvalidValue(
                f"serve.Client: a column {taken[0]!r} cannot be a feature in Arrow format: "
                "rename it, or use format='ndjson'"
            )
        data = table_bytes(table.append_column("id", pa.array(ids, pa.string())))
        return self._transport.request("POST", path, data, ARROW)


def _pair(item: Any) -> dict[str, Any]:
    if not isinstance(item, Sequence) or isinstance(item, str) or len(item) != 2:
        raise InvalidType(
            f"serve.Client: a label must be a dict or a pair of an id and a label, got {typed(item)}"
        )
    return {"id": item[0], "y": item[1]}


def _waiting(wait: str | None) -> str:
    return "" if wait is None else f"?wait={segment(wait)}"


def _new_id() -> str:
    return new_id(time.time_ns() // 1_000_000)


def _checked_size(batch_size: int) -> int:
    if isinstance(batch_size, bool) or not isinstance(batch_size, int) or not 1 <= batch_size <= 100_000:
        raise InvalidValue(f"serve.Client: batch_size must be an integer from 1 to 100000, got {batch_size!r}")
    return batch_size


def _results(response: Response, number: int) -> list[dict[str, Any]]:
    """One result for each item of a request."""
    found = read_results(response.body, response.content_type)
    if len(found) != number:
        raise ServeError(f"{number} items were sent, and {len(found)} results came back", response.status)
    return found
