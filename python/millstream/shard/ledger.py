"""One file that says which states are valid: replaced atomically, with a checksum."""

from __future__ import annotations

import json
import os
import zlib
from pathlib import Path
from typing import Any

from millstream._echo import quoted
from millstream._files import sync_folder, write_whole
from millstream.errors import InvalidState

__all__ = ["Ledger"]

_FORMAT = 1


class Ledger:
    """A dict of plain values in a file.

    `write` replaces the whole content: after a crash, `read` returns the content before or after it. What is
    written in one call, such as a model and the position in a stream, is therefore always consistent.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from millstream import shard
    >>> ledger = shard.Ledger(Path(tempfile.mkdtemp()) / "ledger.json")
    >>> ledger.write({"batch": 17, "shards": 2})
    >>> ledger.read()
    {'batch': 17, 'shards': 2}
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def read(self) -> dict[str, Any] | None:
        """The content; None if nothing was written yet."""
        try:
            found = json.loads(self.path.read_bytes())
            content, checksum = found["content"], found["checksum"]
            sound = found["format"] == _FORMAT and checksum == _checksum(content) and isinstance(content, dict)
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError):
            sound = False
        if not sound:
            raise InvalidState(f"shard: {quoted(str(self.path))} is damaged, or of a newer version")
        return dict(content)

    def write(self, content: dict[str, Any]) -> None:
        """Replace the content, and wait until it is on the disk."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        whole = {"format": _FORMAT, "checksum": _checksum(content), "content": content}
        write_whole(self.path, json.dumps(whole).encode())
        sync_folder(self.path.parent)


def _checksum(content: Any) -> int:
    return zlib.crc32(json.dumps(content, sort_keys=True).encode())
