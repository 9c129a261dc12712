"""Files that are written atomically, by writers that are killed, that fail, and that write at the same time."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import millstream
from millstream import _files, drift, evaluate, linear_model, metrics, tree
from millstream._files import write_whole

posix = pytest.mark.skipif(os.name != "posix", reason="locks and kills as POSIX has them")


@pytest.fixture(params=["nameless", "beside"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways to write: without a name where the system can, and beside the target."""
    if request.param == "beside":
        monkeypatch.setattr(_files, "_NAMELESS", None)
    elif _files._NAMELESS is None:
        pytest.skip("this system has no files without a name")
    return str(request.param)


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_files_are_replaced_whole(tmp_path: Path, way: str) -> None:
    path = tmp_path / "file"
    for data in (b"", b"one", b"x" * 1_000_000, b"two"):
        write_whole(path, data)
        assert path.read_bytes() == data
        assert names(tmp_path) == ["file"]
    long = tmp_path / ("n" * 250)
    write_whole(long, b"long")
    assert long.read_bytes() == b"long"
    assert len(names(tmp_path)) == 2


def test_errors_leave_the_old_file_and_name_it(tmp_path: Path, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    write_whole(path, b"old")

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    for owner, name in ((os, "fsync"), (Path, "replace")):
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, full)
            with pytest.raises(OSError, match="No space left") as found:
                write_whole(path, b"new")
        assert found.value.filename == str(path)
        assert path.read_bytes() == b"old"
        assert names(tmp_path) == ["file"]
    with pytest.raises(IsADirectoryError):
        write_whole(tmp_path, b"new")
    with pytest.raises(FileNotFoundError) as missing:
        write_whole(tmp_path / "no folder" / "file", b"new")
    assert missing.value.filename == str(tmp_path / "no folder" / "file")
    assert names(tmp_path) == ["file"]


def test_a_system_without_proc_or_links_writes_beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any, **__: Any) -> None:
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    monkeypatch.setattr(os, "link", refused)
    write_whole(tmp_path / "file", b"data")
    assert (tmp_path / "file").read_bytes() == b"data"
    assert names(tmp_path) == ["file"]


@posix
def test_leftovers_of_dead_writers_are_removed(tmp_path: Path, way: str) -> None:
    path = tmp_path / "file"
    for name in (".file.new", ".file.new1"):
        (tmp_path / name).write_bytes(b"half")
    (tmp_path / ".other.new").write_bytes(b"of another target")
    write_whole(path, b"data")
    assert names(tmp_path) == [".other.new", "file"]
    assert path.read_bytes() == b"data"


@posix
def test_files_of_live_writers_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_files, "_NAMELESS", None)
    path = tmp_path / "file"
    begun, go_on = threading.Event(), threading.Event()
    plain = os.fsync

    def slow(descriptor: int) -> None:
        if threading.current_thread().name == "slow":
            begun.set()
            assert go_on.wait(30)
        plain(descriptor)

    monkeypatch.setattr(os, "fsync", slow)
    writer = threading.Thread(target=write_whole, args=(path, b"slow"), name="slow")
    writer.start()
    assert begun.wait(30)
    for number in range(20):
        write_whole(path, b"fast %d" % number)
        assert path.read_bytes() == b"fast %d" % number
        assert names(tmp_path) == [".file.new", "file"]
    go_on.set()
    writer.join()
    assert path.read_bytes() == b"slow"
    assert names(tmp_path) == ["file"]


@posix
def test_without_locks_nothing_is_removed(tmp_path: Path, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_files, "_locks", None)
    (tmp_path / ".file.new").write_bytes(b"perhaps of a live writer")
    write_whole(tmp_path / "file", b"data")
    assert names(tmp_path) == [".file.new", "file"]


@posix
def test_a_file_that_is_taken_before_it_is_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_files, "_NAMELESS", None)
    plain, taken = _files._lock, []

    def late(file: Any) -> Any:
        if not taken:
            # Another writer comes between creating the file and locking it.
            taken.append(True)
            (tmp_path / ".file.new").unlink()
        return plain(file)

    monkeypatch.setattr(_files, "_lock", late)
    write_whole(tmp_path / "file", b"data")
    assert (tmp_path / "file").read_bytes() == b"data"
    assert names(tmp_path) == ["file"]


SAVE = """
import sys
from millstream import _files, linear_model

if sys.argv[2] == "beside":
    _files._NAMELESS = None
model = linear_model.LogisticRegression()
model.learn_one({f"feature {i}": 1.0 for i in range(20_000)}, 1)
print("ready", flush=True)
while True:
    model.save(sys.argv[1])
"""


#: Writers are forked, because a new process takes longer to start than twenty writers live.
KILL = """
import os, random, signal, sys, time
from pathlib import Path
import millstream
from millstream import _files, linear_model

path = Path(sys.argv[1])
if sys.argv[2] == "beside":
    _files._NAMELESS = None
model = linear_model.LogisticRegression()
model.learn_one({f"feature {i}": 1.0 for i in range(20_000)}, 1)
random.seed(7)
found = 0
for _ in range(20):
    writers = []
    for _ in range(2):
        writers.append(os.fork())
        if writers[-1] == 0:
            while True:
                model.save(path)
    time.sleep(random.random() * 0.05)
    for writer in writers:
        os.kill(writer, signal.SIGKILL)
    for writer in writers:
        assert os.waitstatus_to_exitcode(os.waitpid(writer, 0)[1]) == -signal.SIGKILL
    if path.exists():
        found += 1
        assert len(millstream.load(path).features) == 20_000
    # At most one for each of the two that were alive, and none from the rounds before.
    assert len(list(path.parent.iterdir())) <= 3
assert found > 10, found
"""


@posix
def test_kills_leave_whole_files_and_no_litter(tmp_path: Path, way: str) -> None:
    path = tmp_path / "model.ms"
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", KILL, str(path), way]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    linear_model.LogisticRegression().save(path)
    assert names(tmp_path) == ["model.ms"]


@posix
def test_several_processes_save_to_one_file(tmp_path: Path, way: str) -> None:
    path = tmp_path / "model.ms"
    command = [sys.executable, "-c", SAVE, str(path), way]
    several = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(3)
    ]
    for process in several:
        assert process.stdout is not None
        process.stdout.readline()
    end = time.monotonic() + 1.0
    while time.monotonic() < end:
        if path.exists():
            assert len(millstream.load(path).features) == 20_000
    for process in several:
        assert process.poll() is None, process.communicate()[1]
        process.kill()
        process.communicate()


def test_all_savers_leave_one_file(tmp_path: Path) -> None:
    model = tree.HoeffdingTreeClassifier()
    rows = [({"a": float(i % 3)}, i % 2) for i in range(300)]
    result = evaluate.prequential(model, rows, progress=False)
    accuracy = metrics.Accuracy()
    accuracy.update(1, 1)
    for number in range(2):
        model.save(tmp_path / "model.ms")
        accuracy.save(tmp_path / "metric.ms")
        drift.ADWIN().save(tmp_path / "detector.ms")
        drift.Monitor(drift.ADWIN()).save(tmp_path / "monitor.ms")
        result.to_html(tmp_path / "page.html", title=f"{number}")
        result.save_plot(tmp_path / "plot.svg")
        model.draw().save(tmp_path / "tree.svg")
    assert names(tmp_path) == [
        "detector.ms", "metric.ms", "model.ms", "monitor.ms", "page.html", "plot.svg", "tree.svg",
    ]  # fmt: skip
