"""Dumps of `compose.Keyed`: restored is never stopped, and damage is found."""

from __future__ import annotations

import importlib.util
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import millstream
from millstream import compose, linear_model, preprocessing, tree
from millstream.errors import InvalidState, InvalidType

KILLS = 100 if os.environ.get("MILLSTREAM_FAULTS") == "long" else 5


def pipeline() -> Any:
    return preprocessing.StandardScaler() | linear_model.LogisticRegression()


def batch(number: int, rows: int = 300, keys: int = 120) -> tuple[Any, Any, Any]:
    stream = np.random.default_rng(number)
    X = stream.normal(size=(rows, 3))
    return X, (X[:, 0] > 0).astype(int), stream.integers(0, keys, rows)


def learned(keyed: Any, numbers: Any) -> Any:
    for number in numbers:
        X, y, keys = batch(number)
        keyed.step_many(X, y, keys=keys if keyed.key == "int" else [f"k {key}" for key in keys])
    return keyed


def everything(keyed: Any) -> Any:
    totals = {name: column.tolist() for name, column in keyed.totals().items()}
    return {key: keyed[key].to_bytes() for key in keyed}, json.dumps(totals), keyed.counters


@pytest.fixture(params=["int", "text", "tree", "few", "ttl"])
def keyed(request: Any) -> Any:
    return {
        "int": lambda: compose.Keyed(pipeline(), key="int"),
        "text": lambda: compose.Keyed(pipeline(), key="text"),
        "tree": lambda: compose.Keyed(tree.HoeffdingTreeClassifier(grace_period=5), key="text"),
        "few": lambda: compose.Keyed(pipeline(), key="text", max_keys=50),
        "ttl": lambda: compose.Keyed(pipeline(), key="int", time="t", ttl=5.0, n_threads=2),
    }[request.param]()


def test_restored_is_never_stopped(keyed: Any, tmp_path: Path) -> None:
    whole = learned(keyed.clone(), range(8))
    for stop in range(1, 8):
        learned(keyed, [stop - 1])
        written = keyed.dump(tmp_path, position={"batch": stop})
        assert written["kind"] == ("full" if stop == 1 else written["kind"])
        restored = compose.Keyed.load(tmp_path)
        assert restored.position == {"batch": stop}
        assert everything(restored) == everything(keyed)
        assert repr(restored) == repr(keyed)
        assert restored.role == keyed.role
        assert everything(learned(restored, range(stop, 8))) == everything(whole)


def test_a_restored_object_goes_on_with_deltas(tmp_path: Path) -> None:
    first = learned(compose.Keyed(pipeline(), key="int"), range(20))
    assert first.dump(tmp_path)["kind"] == "full"
    second = compose.Keyed.load(tmp_path)
    second.learn_many(np.ones((1, 3)), [1], keys=[7])
    written = second.dump(tmp_path)
    assert (written["kind"], written["models"]) == ("delta", 1)
    del second[3]
    second.learn_many(np.ones((2, 3)), [1, 0], keys=[3, 500])
    del second[500]
    assert second.dump(tmp_path)["models"] == 1
    third = compose.Keyed.load(tmp_path)
    assert everything(third) == everything(second)
    assert third[3].learned == 1
    # The first object does not know of the other files: it starts a series of its own.
    assert first.dump(tmp_path)["kind"] == "full"
    assert everything(compose.Keyed.load(tmp_path)) == everything(first)
    assert len(list(tmp_path.glob("*.dump"))) == 1


def test_many_deltas_become_a_full_dump(tmp_path: Path) -> None:
    keyed = learned(compose.Keyed(pipeline(), key="int"), range(10))
    kinds = []
    for number in range(150):
        keyed.learn_many(np.ones((1, 3)), [1], keys=[number % 120])
        kinds.append(keyed.dump(tmp_path)["kind"])
    assert 1 < kinds.count("full") < 40
    assert len(list(tmp_path.glob("*.dump"))) < 70
    assert everything(compose.Keyed.load(tmp_path)) == everything(keyed)


def test_bytes_go_round(keyed: Any) -> None:
    learned(keyed, range(3))
    other = compose.Keyed.from_bytes(keyed.to_bytes())
    assert everything(other) == everything(keyed)
    assert other.to_bytes() == keyed.to_bytes()
    assert everything(learned(other, [3])) == everything(learned(keyed, [3]))


def test_files_and_folders_are_loaded_as_models_are(keyed: Any, tmp_path: Path) -> None:
    learned(keyed, range(2))
    keyed.save(tmp_path / "keyed.ms")
    assert everything(millstream.load(tmp_path / "keyed.ms")) == everything(keyed)
    keyed.dump(tmp_path / "folder")
    assert everything(millstream.load(tmp_path / "folder")) == everything(keyed)


def test_a_refused_batch_leaves_the_next_delta_empty(tmp_path: Path) -> None:
    keyed = learned(compose.Keyed(pipeline(), key="int", max_keys=100), range(3))
    keyed.dump(tmp_path)
    X, y, keys = batch(4)
    X[-1, 0] = np.inf
    with pytest.raises(ValueError, match="row 299"):
        keyed.learn_many(X, y, keys=keys + 60)
    assert keyed.dump(tmp_path)["models"] == 0
    assert everything(compose.Keyed.load(tmp_path)) == everything(keyed)


@pytest.mark.parametrize("template", [pipeline, lambda: tree.HoeffdingTreeClassifier(grace_period=5)])
def test_every_flipped_bit_is_found(template: Any) -> None:
    keyed = compose.Keyed(template(), key="k", max_keys=10)
    keyed.learn_many(np.arange(12.0).reshape(4, 3), [1, 0, 1, 0], keys=["a", "b", "a", "b"])
    data = keyed.to_bytes()
    for place in range(len(data)):
        for bit in range(8) if place % 7 == 0 else (place % 8,):
            flipped = bytearray(data)
            flipped[place] ^= 1 << bit
            with pytest.raises(InvalidState):
                compose.Keyed.from_bytes(bytes(flipped))
    for end in range(len(data)):
        with pytest.raises(InvalidState):
            compose.Keyed.from_bytes(data[:end])
    with pytest.raises(InvalidState, match="after its end"):
        compose.Keyed.from_bytes(data + b"x")


def _blocks(data: bytes) -> list[bytes]:
    """The payloads of a dump: the head, and one block for each shard."""
    blocks, at = [], 12
    while at < len(data):
        length = int.from_bytes(data[at : at + 8], "little")
        blocks.append(data[at + 8 : at + 8 + length])
        at += length + 12
    return blocks


def _forged(data: bytes, blocks: list[bytes]) -> bytes:
    """A dump with other blocks and valid checksums."""
    out = data[:12]
    for block in blocks:
        out += len(block).to_bytes(8, "little") + block + _crc32c(block).to_bytes(4, "little")
    return out


def _crc32c(data: bytes) -> int:
    """The checksum of a block, bit by bit."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def test_forged_dumps_with_valid_checksums_are_refused() -> None:
    data = learned(compose.Keyed(pipeline(), key="int"), range(3)).to_bytes()
    head, *shards = _blocks(data)
    assert _forged(data, [head, *shards]) == data
    with pytest.raises(InvalidState, match="a key is in the block of another shard"):
        compose.Keyed.from_bytes(_forged(data, [head, shards[1], shards[0], *shards[2:]]))
    absurd = (1 << 63).to_bytes(8, "little")
    for word in range(7):
        if word == 1:
            continue
        block = shards[0][: 8 * word] + absurd + shards[0][8 * word + 8 :]
        with pytest.raises(InvalidState, match="out of range"):
            compose.Keyed.from_bytes(_forged(data, [head, block, *shards[1:]]))
    infinite = shards[0][:8] + np.array([np.inf]).tobytes() + shards[0][16:]
    with pytest.raises(InvalidState, match="out of range"):
        compose.Keyed.from_bytes(_forged(data, [head, infinite, *shards[1:]]))
    old = (0).to_bytes(8, "little") + shards[0][8:]
    with pytest.raises(InvalidState, match="newer than its dump"):
        compose.Keyed.from_bytes(_forged(data, [head, old, *shards[1:]]))


def test_damaged_and_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidState, match="there is no dump in"):
        compose.Keyed.load(tmp_path)
    keyed = learned(compose.Keyed(pipeline(), key="int"), range(5))
    keyed.dump(tmp_path)
    keyed.learn_many(np.ones((1, 3)), [1], keys=[7])
    keyed.dump(tmp_path)
    full, delta = sorted(tmp_path.glob("*.dump"), reverse=True)
    for file in (full, delta):
        data = file.read_bytes()
        file.write_bytes(data[:-200] + bytes([data[-200] ^ 1]) + data[-199:])
        with pytest.raises(InvalidState, match=rf"{file.name} cannot be read: block \d+ is damaged"):
            compose.Keyed.load(tmp_path)
        file.unlink()
        with pytest.raises(InvalidState, match=f"{file.name} is missing"):
            compose.Keyed.load(tmp_path)
        file.write_bytes(data)
    # A delta of other models, and one that came before.
    other = learned(compose.Keyed(pipeline(), key="int"), range(5))
    elsewhere = tmp_path / "other"
    other.dump(elsewhere)
    other.learn_many(np.ones((1, 3)), [1], keys=[7])
    other.dump(elsewhere)
    kept = delta.read_bytes()
    delta.write_bytes(next(elsewhere.glob("delta*")).read_bytes())
    with pytest.raises(InvalidState, match="a delta of other models"):
        compose.Keyed.load(tmp_path)
    delta.write_bytes(kept)
    manifest = json.loads((tmp_path / "keyed.json").read_text())
    manifest["files"].append(manifest["files"][-1])
    (tmp_path / "keyed.json").write_text(json.dumps(manifest))
    with pytest.raises(InvalidState, match="does not follow the dump before"):
        compose.Keyed.load(tmp_path)
    (tmp_path / "keyed.json").write_text("{")
    with pytest.raises(InvalidState, match="is damaged"):
        compose.Keyed.load(tmp_path)


def test_a_dump_touches_no_other_file_and_no_listed_one(tmp_path: Path) -> None:
    (tmp_path / "postgres.dump").write_text("")
    first = learned(compose.Keyed(pipeline(), key="int"), range(2))
    first.dump(tmp_path)
    listed = {file["name"] for file in json.loads((tmp_path / "keyed.json").read_text())["files"]}
    # Another object starts a series of its own, under other names.
    learned(compose.Keyed(pipeline(), key="int"), range(1)).dump(tmp_path)
    names = {file["name"] for file in json.loads((tmp_path / "keyed.json").read_text())["files"]}
    assert not names & listed
    assert (tmp_path / "postgres.dump").exists()


def test_a_dump_that_cannot_be_written(tmp_path: Path) -> None:
    keyed = learned(compose.Keyed(pipeline(), key="int"), range(2))
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        keyed.dump(tmp_path / "file")
    with pytest.raises(InvalidType, match="a position must consist of"):
        keyed.dump(tmp_path / "folder", position=object())
    keyed.dump(tmp_path / "folder")
    assert everything(compose.Keyed.load(tmp_path / "folder")) == everything(keyed)


PROCESS = """
import sys
sys.path.insert(0, {tests!r})
from pathlib import Path
from test_keyed_dumps import *

folder = Path({folder!r})
if (folder / "keyed.json").exists():
    keyed = compose.Keyed.load(folder)
else:
    keyed = compose.Keyed(pipeline(), key="int", max_keys=100, **{limits!r})
for number in range(keyed.position or 0, 60):
    learned(keyed, [number])
    keyed.dump(folder, position=number + 1)
print("finished", flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("spills", [False, True])
def test_killed_processes_lose_and_double_nothing(spills: bool, tmp_path: Path) -> None:
    # 50,000 bytes are too few for 100 models in memory; fewer bytes would drop stubs, and the keys would differ.
    limits = {"max_bytes": 50_000, "spill": str(tmp_path / "spill")} if spills else {}
    script = PROCESS.format(tests=str(Path(__file__).parent), folder=str(tmp_path / "dumps"), limits=limits)
    whole = learned(compose.Keyed(pipeline(), key="int", max_keys=100), range(60))
    kills = 0
    chance = random.Random(1)
    while True:
        process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
        if kills < KILLS:
            manifest = tmp_path / "dumps" / "keyed.json"
            before = manifest.stat().st_mtime_ns if manifest.exists() else 0
            # Wait for a dump of this process, so that each one makes some progress.
            while process.poll() is None and (not manifest.exists() or manifest.stat().st_mtime_ns == before):
                time.sleep(0.001)
            time.sleep(chance.uniform(0.0, 0.01))
            process.send_signal(signal.SIGKILL)
        output = process.communicate()[0]
        if b"finished" in output:
            break
        kills += 1
    restored = compose.Keyed.load(tmp_path / "dumps")
    assert everything(restored)[:2] == everything(whole)[:2]
    assert restored.counters["dropped"] == whole.counters["dropped"]
    assert (restored.counters["spilled"] > 0) == spills
    where = ", with models in the spill file" if spills else ""
    print(f"Keyed models: {kills} kills in mid-batch, mid-dump and mid-spill{where}; the states are the same")


def test_a_dump_of_this_format_stays_readable(tmp_path: Path) -> None:
    golden = Path(__file__).parent / "golden"
    spec = importlib.util.spec_from_file_location("make_keyed", golden / "make_keyed.py")
    assert spec is not None
    assert spec.loader is not None
    make = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make)
    shutil.copytree(golden / "keyed", tmp_path / "keyed")
    keyed = compose.Keyed.load(tmp_path / "keyed")
    assert keyed.position == 3
    assert keyed.parameters["max_keys"] == 39
    assert [file.name.split("-")[0] for file in sorted(tmp_path.glob("keyed/*.dump"))] == ["delta"] * 2 + ["full"]
    # The versions of millstream differ, so states are compared by what they compute.
    whole = make.learned(range(3))
    assert keyed.keys() == whole.keys()
    X, y, keys = make.rows(7)
    assert list(keyed.step_many(X, y, keys=keys)) == list(whole.step_many(X, y, keys=keys))
    assert keyed.counters == whole.counters
    assert all(keyed[key].inspect() == whole[key].inspect() for key in whole)
