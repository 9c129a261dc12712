"""Files that are written atomically: whoever looks sees the old content or the new, and never a part.

On Linux the new content has no name until it is complete (`O_TMPFILE`), so a process that is killed while it
writes leaves nothing behind. Elsewhere, and on file systems without that, it is written to a file beside the
target. Either way the new file has a name of its own for a moment, always one of the same few, and its writer
holds a lock on it, which the system releases when the writer dies. The next writer of the same target removes the
file if it can get the lock, and takes another name if it cannot. So what a killed process left is removed, and
what a live one writes is not touched.
"""

from __future__ import annotations

import errno
import hashlib
import io
import os
import secrets
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import IO, Any

__all__ = ["write_figure", "write_whole"]

_locks: ModuleType | None
try:
    import fcntl as _locks
except ImportError:
    _locks = None

#: Opens a file that has no name yet; None where there is no such thing.
_NAMELESS: int | None = getattr(os, "O_TMPFILE", None)

#: How many writers of one target have names of their own that are used again.
_NAMES = 8

#: A name that is longer has no room for what is added to it.
_LONGEST_NAME = 200


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file atomically. An error leaves the old file as it was, and names the file as the caller does."""
    # A link stays a link, to the new file.
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file() and not target.is_dir():
        # A pipe or a device is written to; a rename would put a file in its place.
        with target.open("wb", buffering=0) as file:
            rest = memoryview(data)
            while rest:
                rest = rest[file.write(rest) :]
        return
    try:
        if not _write_nameless(target, data):
            _write_beside(target, data)
        for name in _fixed_names(target):
            _remove_leftover(name)
    except OSError as error:
        if error.errno is None:
            raise
        raise type(error)(error.errno, error.strerror, os.fspath(path)) from None


def write_figure(path: str | os.PathLike[str], figure: Any, dpi: int, format: str | None = None) -> None:  # noqa: A002
    """Write a figure of matplotlib atomically, in the format that the name ends with unless one is given."""
    picture = io.BytesIO()
    figure.savefig(picture, dpi=dpi, format=format or Path(path).suffix.removeprefix(".").lower())
    write_whole(path, picture.getvalue())


def _write_nameless(target: Path, data: bytes) -> bool:
    """Write a file without a name, then name it; False if the system or the file system cannot do that."""
    if _NAMELESS is None:
        return False
    try:
        descriptor = os.open(target.parent, _NAMELESS | os.O_WRONLY, 0o666)
    except OSError as error:
        # Where the flag is not known it means to write to a directory.
        if error.errno in (errno.EISDIR, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOENT):
            return False
        raise
    with os.fdopen(descriptor, "wb") as file:
        _fill(file, data)
        # Before it has a name, so that nobody takes it for a leftover.
        _lock(file)
        own = f"/proc/self/fd/{descriptor}"
        for name in _names(target):
            try:
                os.link(own, name, follow_symlinks=True)
            except FileExistsError:
                continue
            except OSError:
                # No /proc, or no links.
                return False
            _rename(file, name, target)
            return True
    return False


def _write_beside(target: Path, data: bytes) -> None:
    """Write a file beside the target, then rename it."""
    for name in _names(target):
        try:
            file = _created(name)
        except FileExistsError:
            continue
        with file:
            try:
                _fill(file, data)
                if os.name == "nt":
                    # An open file cannot be renamed there.
                    file.close()
            except BaseException:
                _remove(file, name)
                raise
            _rename(file, name, target)
        return
    raise FileExistsError(errno.EEXIST, "too many temporary files beside it", str(target))


def _created(name: Path) -> IO[bytes]:
    descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    file = os.fdopen(descriptor, "wb")
    if _lock(file) is False or not _is_at(file, name):
        # Another writer took it for a leftover before it was locked.
        file.close()
        raise FileExistsError(errno.EEXIST, "taken by another writer", str(name))
    return file


def _fill(file: IO[bytes], data: bytes) -> None:
    file.write(data)
    file.flush()
    os.fsync(file.fileno())


def _rename(file: IO[bytes], name: Path, target: Path) -> None:
    try:
        name.replace(target)
    except BaseException:
        _remove(file, name)
        raise


def _remove(file: IO[bytes], name: Path) -> None:
    """Remove the name of our own file, which may be that of another writer's file by now."""
    if file.closed or _is_at(file, name):
        if os.name == "nt":
            file.close()
        name.unlink(missing_ok=True)


def _names(target: Path) -> Iterator[Path]:
    """Names for the new file that are free: always the same few first, so that leftovers are found."""
    for name in _fixed_names(target):
        # A name may be lost to another writer after it was found to be free, and is then passed over.
        if _remove_leftover(name):
            yield name
    for _ in range(100):
        yield target.with_name(f".{_stem(target)}.new-{secrets.token_hex(8)}")


def _fixed_names(target: Path) -> Iterator[Path]:
    for number in range(_NAMES):
        yield target.with_name(f".{_stem(target)}.new{number or ''}")


def _stem(target: Path) -> str:
    name = os.fsencode(target.name)
    return target.name if len(name) <= _LONGEST_NAME else hashlib.sha256(name).hexdigest()[:32]


def _remove_leftover(name: Path) -> bool:
    """Remove the file of a writer that has died. Whether the name is free, as far as can be known."""
    try:
        descriptor = os.open(name, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except FileNotFoundError:
        return True
    except OSError:
        return False
    with os.fdopen(descriptor, "rb") as file:
        # Without locks nobody can tell whether its writer is alive.
        if _lock(file) is not True:
            return False
        if _is_at(file, name):
            with suppress(FileNotFoundError):
                name.unlink()
    return True


def _lock(file: IO[bytes]) -> bool | None:
    """Whether this process now holds the lock of a file, until that is closed; None where there are no locks."""
    if _locks is None:
        return None
    try:
        _locks.flock(file.fileno(), _locks.LOCK_EX | _locks.LOCK_NB)
    except OSError as error:
        return False if error.errno in (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES) else None
    return True


def _is_at(file: IO[bytes], name: Path) -> bool:
    """Whether a name is that of an open file."""
    here = os.fstat(file.fileno())
    try:
        there = name.lstat()
    except FileNotFoundError:
        return False
    return (here.st_ino, here.st_dev) == (there.st_ino, there.st_dev)
