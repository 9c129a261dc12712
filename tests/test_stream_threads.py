"""Which thread reads: one opens a source, reads it and closes it, whatever becomes of the chunks."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from millstream import evaluate, naive_bayes, stream
from millstream.cli.observed import ObservedStream
from millstream.stream import source as source_module
from millstream.stream.base import Stream
from millstream.stream.prefetch import read_ahead

LINES = {
    "csv": ("a,b,y\n", "1,2.5,0\n2,1.5,1\n"),
    "jsonl": ("", '{"a": 1, "b": 2.5, "y": 0}\n{"a": 2, "b": 1.5, "y": 1}\n'),
    "vw": ("", "1 |n a:1 b:2.5\n-1 |n a:2 b:1.5\n"),
    "libsvm": ("", "1 1:1 2:2.5\n0 1:2 2:1.5\n"),
    "arff": ("@relation r\n@attribute a numeric\n@attribute y {0,1}\n@data\n", "1,0\n2,1\n"),
}


class Record:
    """The threads that were inside a reading, and whether it was closed."""

    def __init__(self) -> None:
        self.threads: list[set[int]] = []
        self.closed = 0


@pytest.fixture
def record(monkeypatch: pytest.MonkeyPatch) -> Record:
    found = Record()
    plain = source_module._file

    def watched(path: str) -> Iterator[Any]:
        inside: set[int] = {threading.get_ident()}
        found.threads.append(inside)
        items = plain(path)
        try:
            for piece in items:
                yield piece
                inside.add(threading.get_ident())
        finally:
            inside.add(threading.get_ident())
            found.closed += 1

    monkeypatch.setattr(source_module, "_file", watched)
    return found


def opened(folder: Path, ending: str, target: str = "y") -> Stream:
    head, rows = LINES[ending]
    path = folder / f"rows.{ending}"
    path.write_text(head + rows * (3_000_000 // len(rows)))
    return stream.open(path) if ending in ("vw", "libsvm") else stream.open(path, target=target)


def whole(rows: Stream) -> None:
    assert sum(len(chunk) for chunk in rows.chunks()) > 10_000


def first_chunk(rows: Stream) -> None:
    next(iter(rows.chunks()))


def looked_at_first(rows: Stream) -> None:
    watched = ObservedStream(rows)
    assert watched.first() is not None
    result = evaluate.prequential(naive_bayes.GaussianNB(), watched, progress=False)
    assert result.rows == watched.rows > 10_000


def looked_at_only(rows: Stream) -> None:
    watched = ObservedStream(rows)
    assert watched.first() is not None
    del watched


def failing(rows: Stream) -> None:
    class Full(Exception):
        pass

    def full(columns: Any) -> None:
        raise Full

    with pytest.raises(Full):
        evaluate.prequential(naive_bayes.GaussianNB(), rows, predictions=full, progress=False)


def in_pieces(rows: Stream) -> None:
    chunks = read_ahead(rows.take(20_000).chunks())
    next(chunks)
    other = threading.Thread(target=list, args=(chunks,))
    other.start()
    other.join()


@pytest.mark.parametrize("use", [whole, first_chunk, looked_at_first, looked_at_only, failing, in_pieces])
@pytest.mark.parametrize("ending", LINES)
def test_one_thread_owns_a_reading(tmp_path: Path, record: Record, ending: str, use: Any) -> None:
    use(opened(tmp_path, ending))
    gc.collect()
    assert record.threads
    assert [len(threads) for threads in record.threads] == [1] * len(record.threads)
    assert record.closed == len(record.threads)


def test_a_reading_that_only_once_looked_at_its_schema_has_one_thread(tmp_path: Path) -> None:
    threads: set[int] = set()

    class Once(stream.TableStream):
        repeatable = False
        reads_ahead = True

        def tables(self) -> Iterator[Any]:
            import pyarrow

            for number in range(5):
                threads.add(threading.get_ident())
                yield pyarrow.table({"a": [float(number)] * 1000, "y": [0, 1] * 500})

    rows = Once(target="y")
    assert rows.schema == {"a": "number"}
    assert evaluate.prequential(naive_bayes.GaussianNB(), rows, progress=False).rows == 5000
    assert len(threads) == 1


@pytest.mark.parametrize("model", [[], ["--model", "GaussianNB"]])
def test_a_mistyped_target_is_one_line(tmp_path: Path, model: list[str]) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("a,b,class\n" + "1.5,2.5,UP\n2.5,1.5,DOWN\n" * 400_000)
    # Where two threads meet in one generator depends on chance.
    for _ in range(4):
        command = [sys.executable, "-m", "millstream", "run", str(path), "--target", "clas", *model]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        words = f"{path}: there is no column 'clas' for target, did you mean 'class'?\n"
        assert (done.returncode, done.stdout, done.stderr) == (1, "", words)


def test_a_data_base_is_used_by_one_thread(tmp_path: Path) -> None:
    import sqlite3

    path = tmp_path / "rows.db"
    with sqlite3.connect(path) as base:
        base.execute("create table rows (a real, y integer)")
        base.executemany("insert into rows values (?, ?)", [(i / 7, i % 2) for i in range(40_000)])
    command = [sys.executable, "-m", "millstream", "run", str(path), "--target", "y", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "40,000 rows" in done.stdout
