"""The data folder: layout, lock, version, and names that cannot leave it."""

import json
import os
import subprocess
import sys

import pytest

from millstream.errors import InvalidState, InvalidValue
from millstream.serve.folder import DataFolder
from millstream.serve.store_errors import FolderInUse

HOLD = """
import sys
sys.path[:0] = {path!r}
{prelude}
from millstream.serve.folder import DataFolder
folder = DataFolder(sys.argv[1])
print("held", flush=True)
sys.stdin.read()
"""


def contents(folder):
    return {str(file.relative_to(folder)): file.is_file() and file.read_bytes() for file in folder.rglob("*")}


def test_layout(tmp_path):
    with DataFolder(tmp_path / "a" / "data") as folder:
        assert json.loads((folder.path / "millstream.json").read_text())["format"] == 1
        assert (folder.path / "lock").read_text() == f"{os.getpid()}\n"
        assert sorted(contents(folder.path)) == ["lock", "millstream.json", "models", "snapshots"]
        assert folder.write_model("0a1b", b"state").read_bytes() == b"state"
    with DataFolder(tmp_path / "a" / "data") as folder:
        assert folder.model_file("0a1b").read_bytes() == b"state"


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_only_the_owner_may_open_a_new_folder(tmp_path):
    DataFolder(tmp_path / "data").close()
    assert (tmp_path / "data").stat().st_mode & 0o777 == 0o700
    # The mode of an existing folder is the choice of its owner.
    (tmp_path / "data").chmod(0o750)
    DataFolder(tmp_path / "data").close()
    assert (tmp_path / "data").stat().st_mode & 0o777 == 0o750


@pytest.mark.parametrize("id", ["", "..", "../x", "a/b", "A", "x" * 33, "a\0", "a\n", None, 5, "con"])
def test_ids_cannot_leave_the_folder(tmp_path, id):
    with DataFolder(tmp_path / "data") as folder:
        with pytest.raises(InvalidValue, match="must be hexadecimal digits"):
            folder.write_model(id, b"")
        assert list(folder.models.iterdir()) == []


def test_second_server_is_refused_with_the_process_id_of_the_first(tmp_path):
    prelude = "import bstub" if "bstub" in sys.modules else ""
    program = HOLD.format(path=[entry for entry in sys.path if entry], prelude=prelude)
    command = [sys.executable, "-c", program, tmp_path / "data"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout.readline() == "held\n"
        with pytest.raises(FolderInUse, match=f"is in use by process {first.pid}$") as caught:
            DataFolder(tmp_path / "data")
        assert caught.value.pid == first.pid
        # Reading is allowed, and does not take the lock.
        DataFolder(tmp_path / "data", read_only=True).close()
        first.kill()
        first.wait()
    # The lock of a dead process is void.
    DataFolder(tmp_path / "data").close()


def test_second_server_in_the_same_process_is_refused(tmp_path):
    with DataFolder(tmp_path / "data"), pytest.raises(FolderInUse, match=f"process {os.getpid()}$"):
        DataFolder(tmp_path / "data")


def test_newer_folder_is_refused_untouched(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "millstream.json").write_text('{"format": 2}')
    (folder / "events.db").write_bytes(b"unknown")
    before = contents(folder)
    for read_only in (False, True):
        with pytest.raises(InvalidState, match="format 2 is newer than this version can read, 1"):
            DataFolder(folder, read_only=read_only)
    assert contents(folder) == before


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"format": "1"}', '{"format": 0}', '{"format": true}', "[" * 9999]
)
def test_damaged_settings(tmp_path, text):
    (tmp_path / "millstream.json").write_text(text)
    with pytest.raises(InvalidState, match="millstream.json is damaged"):
        DataFolder(tmp_path)
    assert contents(tmp_path) == {"millstream.json": text.encode()}


def test_folder_of_something_else(tmp_path):
    (tmp_path / "thesis.tex").write_text("text")
    with pytest.raises(InvalidState, match="is not a data folder of millstream: it has 'thesis.tex' but no"):
        DataFolder(tmp_path)
    with pytest.raises(InvalidState, match="is a file, not a data folder"):
        DataFolder(tmp_path / "thesis.tex")
    assert contents(tmp_path) == {"thesis.tex": b"text"}


def test_interrupted_creation_goes_on(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "lock").write_text("1\n")
    (folder / "models").mkdir()
    (folder / ".millstream.json.new").write_text("{")
    with DataFolder(folder) as opened:
        assert (opened.path / "millstream.json").exists()


def test_reading_a_missing_folder(tmp_path):
    with pytest.raises(FileNotFoundError, match="is not a data folder of millstream"):
        DataFolder(tmp_path / "data", read_only=True)
    assert list(tmp_path.iterdir()) == []
