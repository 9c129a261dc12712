"""Access tokens: random strings with scopes. The data folder contains only their hashes."""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from millstream._echo import quoted
from millstream._files import write_whole
from millstream.errors import InvalidState, InvalidValue
from millstream.serve.requests import Problem, Request

__all__ = ["SCOPES", "Tokens"]

SCOPES = ("predict", "label", "admin", "metrics")


class Tokens:
    """The tokens of a data folder.

    A token with the scope "admin" allows all operations. With `required=False` and no tokens, all requests are
    allowed; this is the default only on a loopback address.
    """

    def __init__(self, path: Path, *, required: bool) -> None:
        self.path = path
        self.required = required
        self._known: list[dict[str, Any]] = []
        if path.exists():
            try:
                self._known = json.loads(path.read_text())["tokens"]
                for each in self._known:
                    bytes.fromhex(each["sha256"])
                    frozenset(each["scopes"])
            except (ValueError, KeyError, TypeError) as error:
                raise InvalidState(f"{path}: is not a list of tokens: {error}") from None

    def __len__(self) -> int:
        return len(self._known)

    @property
    def active(self) -> bool:
        """Whether requests need a token."""
        return self.required or bool(self._known)

    def create(self, scopes: Iterable[str], name: str = "", *, days: float | None = None) -> str:
        """Create a token, which is shown once and stored as a hash."""
        scopes = sorted(set(scopes))
        for scope in scopes:
            if scope not in SCOPES:
                raise InvalidValue(f"a scope must be one of {', '.join(SCOPES)}, got {quoted(scope)}")
        if not scopes:
            raise InvalidValue(f"a token needs a scope: {', '.join(SCOPES)}")
        token = f"ms_{secrets.token_urlsafe(32)}"
        expires = None if days is None else time.time() + days * 86400
        self._known.append({"name": name, "sha256": _hash(token).hex(), "scopes": scopes, "expires": expires})
        self._write()
        return token

    def revoke(self, name: str) -> int:
        """Remove the tokens with a name. Returns how many."""
        kept = [each for each in self._known if each["name"] != name]
        removed, self._known = len(self._known) - len(kept), kept
        self._write()
        return removed

    def shown(self) -> list[dict[str, Any]]:
        """Names, scopes and expiry of the tokens."""
        return [{name: each.get(name) for name in ("name", "scopes", "expires")} for each in self._known]

    def grants(self, scope: str) -> Sequence[tuple[bytes, float | None]]:
        """The hash and the expiry of each token with a scope, for the native shortcut."""
        return [
            (bytes.fromhex(each["sha256"]), each["expires"])
            for each in self._known
            if {scope, "admin"} & set(each["scopes"])
        ]

    def _write(self) -> None:
        write_whole(self.path, json.dumps({"tokens": self._known}, indent=1).encode())
        self.path.chmod(0o600)

    def check(self, request: Request, scope: str | None) -> None:
        """Refuse a request without a valid token of the scope."""
        if scope is None or not self.active:
            return
        given = request.header("authorization") or ""
        kind, _, token = given.partition(" ")
        if kind.lower() != "bearer" or not token.strip():
            raise Problem(401, "no-token", "authorization: expected a header `Authorization: Bearer TOKEN`")
        found = None
        digest = _hash(token.strip())
        for each in self._known:
            # Every hash is compared in constant time, so the time reveals nothing about the tokens.
            if secrets.compare_digest(digest, bytes.fromhex(each["sha256"])):
                found = each
        if found is None or (found["expires"] is not None and found["expires"] <= time.time()):
            raise Problem(401, "invalid-token", "authorization: the token is unknown or expired")
        if scope not in found["scopes"] and "admin" not in found["scopes"]:
            raise Problem(403, "wrong-scope", f"authorization: the token needs the scope {scope!r}")


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
