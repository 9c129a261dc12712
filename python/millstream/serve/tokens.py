"""Access tokens: random strings with scopes. The data folder contains only their hashes."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from millstream._echo import quoted
from millstream._files import write_whole
from millstream.errors import InvalidState, InvalidValue
from millstream.serve.disk import Disk
from millstream.serve.folder import lock_file
from millstream.serve.requests import Problem, Request
from millstream.serve.store_errors import FolderInUse

__all__ = ["DEFAULT_SCOPES", "SCOPES", "Tokens"]

SCOPES = ("predict", "label", "admin", "metrics")
#: Scopes of a token for which none are given: those of a client, which cannot change models.
DEFAULT_SCOPES = ("predict", "label")

#: Maximum number of characters of a name.
_LONGEST_NAME = 128
#: Seconds between two looks at the file, and seconds to wait for another process that changes it.
_LOOK, _PATIENCE = 1.0, 10.0

#: Inode, time and size of a file.
_Stamp = tuple[int, int, int]


class Tokens:
    """The tokens of a data folder.

    A token with the scope "admin" allows all operations. With `required=False`, requests need a token only if the
    folder has one; this is the default only on a loopback address. A server that has had a token since its start
    refuses all requests after the last one is revoked, which may have been stolen, until it is restarted.

    Another process may change the file while a server runs: `refresh` reads it again. `listener` is called after
    every change.
    """

    def __init__(self, path: Path, *, required: bool) -> None:
        self.path = path
        self.required = required
        self.listener: Callable[[], None] = lambda: None
        self._lock = threading.Lock()
        self._known: list[dict[str, Any]] = []
        self._has_had_tokens = False
        #: Identity and time of the file that was read last; None if there was none.
        self._stamp: _Stamp | None = None
        self._next_look = 0.0
        self._complaint = ""
        self._read()

    def __len__(self) -> int:
        return len(self._known)

    @property
    def active(self) -> bool:
        """Whether requests need a token."""
        return self.required or self._has_had_tokens

    def refresh(self) -> None:
        """Read the file again if another process has changed it; at most once a second."""
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + _LOOK
        # A change may wait for another process; requests do not.
        if not self._lock.acquire(blocking=False):
            return
        try:
            is_changed, complaint = self._read(), ""
        except (OSError, InvalidState) as error:
            # A server that runs keeps the tokens that it knows.
            is_changed, complaint = False, str(error)
        finally:
            self._lock.release()
        if complaint and complaint != self._complaint:
            print(f"millstream serve: {complaint}", file=sys.stderr)  # noqa: T201
        self._complaint = complaint
        if is_changed:
            self.listener()

    def create(self, scopes: Iterable[str], name: str = "", *, days: float | None = None) -> str:
        """Create a token, which is shown once and stored as a hash."""
        if not isinstance(name, str) or len(name) > _LONGEST_NAME or not name.isprintable():
            raise InvalidValue(
                f"the name of a token must be at most {_LONGEST_NAME} printable characters, got {quoted(name)}"
            )
        scopes = sorted(set(scopes))
        for scope in scopes:
            if scope not in SCOPES:
                raise InvalidValue(f"a scope must be one of {', '.join(SCOPES)}, got {quoted(scope)}")
        if not scopes:
            raise InvalidValue(f"a token needs a scope: {', '.join(SCOPES)}")
        token = f"ms_{secrets.token_urlsafe(32)}"
        expires = None if days is None else time.time() + days * 86400
        new = {"name": name, "sha256": _hash(token).hex(), "scopes": scopes, "expires": expires}
        self._change(lambda known: [*known, new])
        return token

    def revoke(self, name: str) -> int:
        """Remove the tokens with a name. Returns how many."""
        return -self._change(lambda known: [each for each in known if each["name"] != name])

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

    def _change(self, change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> int:
        """Change the list in the file. Returns by how many tokens it grew."""
        with self._lock, _locked(self.path.with_name("tokens.lock")):
            self._read()
            changed = change(self._known)
            growth = len(changed) - len(self._known)
            if growth:
                data = json.dumps({"tokens": changed}, indent=1).encode()
                write_whole(self.path, data, mode=0o600)
                Disk().sync_folder(self.path.parent)
                self._know(changed, _stamp(self.path))
        self.listener()
        return growth

    def _read(self) -> bool:
        """Read the file if it is not the one that was read last. Returns whether the tokens may have changed."""
        try:
            stamp = _stamp(self.path)
            if stamp == self._stamp:
                return False
            text = self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            is_changed, self._known, self._stamp = bool(self._known), [], None
            return is_changed
        except UnicodeDecodeError:
            text = ""
        self._know(_parsed(self.path, text), stamp)
        return True

    def _know(self, tokens: list[dict[str, Any]], stamp: _Stamp) -> None:
        # First, so that no request is allowed in between.
        self._has_had_tokens = self._has_had_tokens or bool(tokens)
        self._known, self._stamp = tokens, stamp

    def check(self, request: Request, scope: str | None) -> None:
        """Refuse a request without a valid token of the scope."""
        if scope is None or not self.active:
            return
        if not self._known:
            restart = "" if self.required else ", or restart the server to allow requests without tokens"
            raise Problem(
                401,
                "no-token",
                "authorization: all requests are refused, because the data folder has no tokens: create one with "
                f"`millstream serve --create-token NAME --data FOLDER`{restart}",
            )
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


def _stamp(path: Path) -> _Stamp:
    found = path.stat()
    return found.st_ino, found.st_mtime_ns, found.st_size


def _parsed(path: Path, text: str) -> list[dict[str, Any]]:
    try:
        known: list[dict[str, Any]] = json.loads(text)["tokens"]
        for each in known:
            if len(bytes.fromhex(each["sha256"])) != 32 or not isinstance(each["name"], str):
                raise ValueError("a token needs a name and a SHA-256")
            if not all(isinstance(scope, str) for scope in each["scopes"]):
                raise ValueError("scopes must be strings")
            if each["expires"] is not None:
                float(each["expires"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InvalidState(f"{path}: is not a list of tokens: {error}") from None
    return known


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock file, so that two processes do not overwrite each other's changes."""
    end = time.monotonic() + _PATIENCE
    with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600), "r+b") as file:
        while True:
            try:
                lock_file(file)
                break
            except OSError:
                if time.monotonic() >= end:
                    raise FolderInUse(f"{path}: another process is changing the tokens") from None
                time.sleep(0.02)
        yield
