"""Atomic writes of files: a reader sees the old content or the new, never a part.

On Linux the new content has no name until it is complete (`O_TMPFILE`), so a process that is killed while it
writes leaves nothing behind. On other systems, and on file systems without it, the content is written to a file
beside the target. In both cases the new file briefly has a temporary name from a small fixed set, and its writer
holds a lock on it, which the system releases when the writer dies. The next writer of the same target removes the
file if it gets the lock, and uses another name if it does not. Leftovers of killed processes are thus removed, and
files of live ones are not touched.
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

from millstream._echo import shortened

__all__ = ["sync_folder", "write_figure", "write_whole"]

_locks: ModuleType | None
try:
    import fcntl as _locks
except ImportError:
    _locks = None

#: Opens a file without a name; None if the system has no such flag.
_NAMELESS: int | None = getattr(os, "O_TMPFILE", None)

#: Number of fixed temporary names per target.
_NAMES = 8

#: Longer names leave no room for the suffix.
_LONGEST_NAME = 200


def write_whole(path: str | os.PathLike[str], data: bytes, *, mode: int = 0o666) -> None:
    """Write a file atomically. An error leaves the old file unchanged, and names the path as it was given.

    The file never has more permissions than `mode`.
    """
    try:
        # A symbolic link stays a link, to the new file.
        target = Path(os.path.realpath(path))
        if target.exists() and not target.is_file() and not target.is_dir():
            _write_to_device(target, data)
            return
        if not _write_nameless(target, data, mode):
            _write_beside(target, data, mode)
        for name in _fixed_names(target):
            _remove_leftover(name)
    except OSError as error:
        if error.errno is None:
            raise
        shown = os.fspath(path)
        if error.errno == errno.ENAMETOOLONG and isinstance(shown, str):
            shown = shortened(shown, 240)
        raise type(error)(error.errno, error.strerror, shown) from None


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    if os.name == "nt":
        # Windows cannot open a folder; NTFS journals renames.
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_to_device(target: Path, data: bytes) -> None:
    """Write to a pipe or a device directly; a rename would replace it."""
    with target.open("wb", buffering=0) as file:
        rest = memoryview(data)
        while rest:
            rest = rest[file.write(rest) :]


def write_figure(path: str | os.PathLike[str], figure: Any, dpi: int, format: str | None = None) -> None:  # noqa: A002
    """Write a matplotlib figure atomically, by default in the format of the suffix."""
    picture = io.BytesIO()
    figure.savefig(picture, dpi=dpi, format=format or Path(path).suffix.removeprefix(".").lower())
    write_whole(path, picture.getvalue())


def _write_nameless(target: Path, data: bytes, mode: int) -> bool:
    """Write a file without a name, then link it; False if the system does not support that."""
    if _NAMELESS is None:
        return False
    try:
        descriptor = os.open(target.parent, _NAMELESS | os.O_WRONLY, mode)
    except OSError as error:
        # A system that does not know the flag tries to write to the directory.
        if error.errno in (errno.EISDIR, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOENT):
            return False
        raise
    with os.fdopen(descriptor, "wb") as file:
        _fill(file, data)
        # Before it has a name, so that no other writer treats it as a leftover.
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


def _write_beside(target: Path, data: bytes, mode: int) -> None:
    """Write a file beside the target, then rename it."""
    for name in _names(target):
        try:
            file = _created(name, mode)
        except FileExistsError:
            continue
        with file:
            try:
                _fill(file, data)
                if os.name == "nt":
                    # Windows cannot rename an open file.
                    file.close()
            except BaseException:
                _remove(file, name)
                raise
            _rename(file, name, target)
        return
    raise FileExistsError(errno.EEXIST, "too many temporary files beside it", str(target))


def _created(name: Path, mode: int) -> IO[bytes]:
    descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
    file = os.fdopen(descriptor, "wb")
    if _lock(file) is False or not _is_at(file, name):
        # Another writer treated it as a leftover before it was locked.
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
    """Remove the name of our file, unless it belongs to another writer's file by now."""
    if file.closed or _is_at(file, name):
        if os.name == "nt":
            file.close()
        name.unlink(missing_ok=True)


def _names(target: Path) -> Iterator[Path]:
    """Free names for the new file: the fixed ones first, so that leftovers are found."""
    for name in _fixed_names(target):
        # Another writer may take a free name first; then it is skipped.
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
    """Remove the file of a dead writer; returns whether the name is free, as far as can be known."""
    try:
        descriptor = os.open(name, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except FileNotFoundError:
        return True
    except OSError:
        return False
    with os.fdopen(descriptor, "rb") as file:
        # Without locks it is unknown whether the writer is alive.
        if _lock(file) is not True:
            return False
        if _is_at(file, name):
            with suppress(FileNotFoundError):
                name.unlink()
    return True


def _lock(file: IO[bytes]) -> bool | None:
    """Lock a file until it is closed; False if another process holds the lock, None without locks."""
    if _locks is None:
        return None
    try:
        _locks.flock(file.fileno(), _locks.LOCK_EX | _locks.LOCK_NB)
    except OSError as error:
        return False if error.errno in (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES) else None
    return True


def _is_at(file: IO[bytes], name: Path) -> bool:
    """Whether a path refers to an open file."""
    here = os.fstat(file.fileno())
    try:
        there = name.lstat()
    except FileNotFoundError:
        return False
    return (here.st_ino, here.st_dev) == (there.st_ino, there.st_dev)
