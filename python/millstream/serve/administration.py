"""The part of the client that manages models, versions and routes."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from millstream._echo import typed
from millstream.errors import InvalidType
from millstream.serve.encoding import as_json, members_of, model_path, segment
from millstream.serve.transport import ServeError, Transport

__all__ = ["Administration"]


class Administration:
    """Manages the models, versions and routes of a server. Base class of `Client`."""

    _transport: Transport

    # --------------------------------------------------------------------------------------------------- models

    def models(self) -> list[dict[str, Any]]:
        """List models and routes."""
        found: list[dict[str, Any]] = self._object("GET", "/v1/models")["models"]
        return found

    def model(self, name: str, *, curve: bool = False) -> dict[str, Any]:
        """Show the number of learned examples, the metrics and the label fates of a model or route."""
        return self._object("GET", model_path(name) + ("?curve=1" if curve else ""))

    def create(
        self,
        name: str,
        spec: Any,
        *,
        policy: Mapping[str, Any] | None = None,
        metrics: Iterable[str] | None = None,
    ) -> dict[str, Any]:
        """Create a model from a notation, a description, or the parameters of a model object."""
        if not isinstance(spec, (str, Mapping)):
            if not hasattr(spec, "describe"):
                raise InvalidType(
                    f"serve.Client: spec must be a notation, a description or a model, got {typed(spec)}"
                )
            spec = spec.describe()
        body: dict[str, Any] = {"name": name, "spec": spec}
        if policy is not None:
            body["policy"] = policy.describe() if hasattr(policy, "describe") else policy
        if metrics is not None:
            body["metrics"] = list(metrics)
        return self._object("POST", "/v1/models", body, repeatable=False)

    def delete(self, model: str) -> dict[str, Any]:
        """Delete a model."""
        return self._object("DELETE", model_path(model), repeatable=False)

    def export(self, model: str) -> bytes:
        """Download the current state of a model, as the bytes of a file for `millstream.load`."""
        return self._transport.request("GET", f"{model_path(model)}/export").body

    def import_(self, name: str, model: Any) -> dict[str, Any]:
        """Create a model from a model object, the bytes of a saved file, or its path."""
        if hasattr(model, "to_bytes") and not isinstance(model, (int, bytes)):
            data = model.to_bytes()
        elif isinstance(model, (str, os.PathLike)):
            data = Path(model).read_bytes()
        else:
            data = bytes(model)
        path = f"{model_path(name)}/import"
        response = self._transport.request("POST", path, data, "application/octet-stream", repeatable=False)
        return members_of(response)

    def policy(self, model: str, policy: Any) -> dict[str, Any]:
        """Change the label policy, effective from the next record."""
        described = policy.describe() if hasattr(policy, "describe") else policy
        return self._object("PUT", f"{model_path(model)}/policy", described)

    # ----------------------------------------------------------------------------------------- versions, routes

    def versions(self, model: str) -> list[dict[str, Any]]:
        """List the named versions, oldest first."""
        found: list[dict[str, Any]] = self._object("GET", f"{model_path(model)}/versions")["versions"]
        return found

    def version(self, model: str, name: str | None = None) -> dict[str, Any]:
        """Name the current state; the default name is the next version number."""
        body = {} if name is None else {"version": name}
        return self._object("POST", f"{model_path(model)}/versions", body, repeatable=False)

    def rollback(self, model: str, to: str | int | None = None, *, exclude: Iterable[str] = ()) -> dict[str, Any]:
        """Restore a version or record, or replay the log without the labels of the excluded events."""
        body: dict[str, Any] = {"exclude": list(exclude)}
        if to is not None:
            body["to"] = to
        return self._object("POST", f"{model_path(model)}/rollback", body, repeatable=False)

    def routes(self) -> list[dict[str, Any]]:
        """List routes."""
        found: list[dict[str, Any]] = self._object("GET", "/v1/routes")["routes"]
        return found

    def route(self, name: str, **settings: Any) -> dict[str, Any]:
        """Show a route; with settings, create or change it.

        The settings are `champion`, `challengers`, `mode`, `split`, `promote` and `policy`.
        """
        path = f"/v1/routes/{segment(name)}"
        return self._object("PUT", path, settings) if settings else self._object("GET", path)

    def promote(self, route: str, model: str, why: str = "") -> dict[str, Any]:
        """Make a challenger the champion of a route."""
        path = f"/v1/routes/{segment(route)}/promote"
        return self._object("POST", path, {"model": model, "why": why}, repeatable=False)

    # --------------------------------------------------------------------------------------------------- server

    def metrics(self) -> str:
        """Return the metrics of the server in the Prometheus text format."""
        return self._transport.request("GET", "/metrics").body.decode()

    def wait_until_ready(self, timeout: float = 30.0) -> None:
        """Wait until the server has replayed its log and accepts requests."""
        end = time.monotonic() + timeout
        while True:
            try:
                self._transport.request("GET", "/readyz", retries=0)
            except ServeError as error:
                if time.monotonic() >= end or error.status not in (None, 429, 502, 503, 504):
                    raise
                time.sleep(0.05)
            else:
                return

    def _object(self, method: str, path: str, body: Any = None, *, repeatable: bool = True) -> dict[str, Any]:
        data = None if body is None else as_json(body)
        return members_of(self._transport.request(method, path, data, repeatable=repeatable))
