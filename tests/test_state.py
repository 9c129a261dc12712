"""Saved models: whole or refused, safe to read from strangers, readable for ever."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import pickle
import random
import stat
import struct
import subprocess
import sys
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import millstream
from millstream import _core, linear_model, preprocessing
from millstream.errors import InvalidState, MillstreamError, MissingFile
from streams import CASES, Case, answer, mixed, numbers_in

HEADER = 20


def small() -> Any:
    model = linear_model.LogisticRegression()
    model.learn_one({"a": 1.0, "b": "x"}, True)
    model.learn_one({"a": -1.0, "b": "y"}, False)
    return model


def sealed(payload: bytes, version: int = 1, magic: bytes = b"MILLSTRM", length: int | None = None) -> bytes:
    """A file around a payload, with a checksum that matches."""
    body = magic + struct.pack("<IQ", version, len(payload) if length is None else length) + payload
    return body + struct.pack("<I", zlib.crc32(body))


def payload_of(data: bytes) -> bytes:
    return data[HEADER:-4]


def refused(data: bytes) -> str:
    with pytest.raises(MillstreamError) as failure:
        millstream.from_bytes(data)
    assert "\n" not in str(failure.value)
    return str(failure.value)


def test_the_file_is_what_it_says() -> None:
    data = small().to_bytes()
    assert sealed(payload_of(data)) == data


def test_every_cut_is_refused() -> None:
    data = small().to_bytes()
    for length in range(len(data)):
        with pytest.raises(InvalidState, match=r"^millstream: (not a saved model|the saved model is truncated)"):
            millstream.from_bytes(data[:length])
    assert "after its end" in refused(data + b"\0")


def test_every_flipped_bit_is_refused() -> None:
    data = bytearray(small().to_bytes())
    for place in range(len(data)):
        for bit in range(8):
            data[place] ^= 1 << bit
            with pytest.raises(InvalidState):
                millstream.from_bytes(bytes(data))
            data[place] ^= 1 << bit
    millstream.from_bytes(bytes(data))


def test_a_newer_format_and_other_files_are_refused() -> None:
    payload = payload_of(small().to_bytes())
    assert "format 2, this version reads up to 1; upgrade millstream" in refused(sealed(payload, version=2))
    assert "format 4294967295" in refused(sealed(payload, version=2**32 - 1))
    assert "format 0" in refused(sealed(payload, version=0))
    assert "not a saved model" in refused(sealed(payload, magic=b"MILLSTRN"))
    assert "not a saved model" in refused(b"")
    assert "not a saved model" in refused(pickle.dumps({"a": 1}))
    for what in (None, "text", 3, [1], {"a": 1}):
        with pytest.raises(TypeError, match="a saved model must be bytes, got"):
            millstream.from_bytes(what)  # type: ignore[arg-type]
    data = small().to_bytes()
    assert millstream.from_bytes(bytearray(data)).to_bytes() == millstream.from_bytes(memoryview(data)).to_bytes()


@pytest.mark.parametrize(
    ("description", "words"),
    [
        ({"name": "linear_model.Nope"}, "no stateful component 'linear_model.Nope'"),
        ({"name": "optim.SGD"}, "no stateful component 'optim.SGD'"),
        ({"name": "compose.Pipeline", "parameters": {"steps": [{"name": "x.Y"}]}}, "no component named 'x.Y'"),
        ({"name": "linear_model.LogisticRegression", "parameters": {"l2": -1}}, "l2 must be >= 0, got -1"),
    ],
)
def test_a_forged_description_is_an_invalid_state(description: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidState, match=f"^millstream: the saved description is not valid: .*{words}"):
        millstream.from_bytes(_core.seal(json.dumps(description), 0, b""))


def test_lengths_that_are_not_there_are_refused() -> None:
    payload = payload_of(small().to_bytes())
    for length in (0, 1, len(payload) - 1, len(payload) + 1, 2**31, 2**40, 2**63, 2**64 - 20, 2**64 - 1):
        assert "millstream: the saved model" in refused(sealed(payload, length=length))


# MessagePack, as much of it as an attack needs.


def packed(value: Any) -> bytes:
    if isinstance(value, bytes):
        return b"\xc6" + struct.pack(">I", len(value)) + value
    if isinstance(value, str):
        return b"\xdb" + struct.pack(">I", len(value.encode())) + value.encode()
    if isinstance(value, bool) or value is None:
        return {None: b"\xc0", False: b"\xc2", True: b"\xc3"}[value]
    if isinstance(value, int):
        return (b"\xcf" + struct.pack(">Q", value)) if value >= 0 else (b"\xd3" + struct.pack(">q", value))
    if isinstance(value, float):
        return b"\xcb" + struct.pack(">d", value)
    if isinstance(value, list):
        return b"\xdd" + struct.pack(">I", len(value)) + b"".join(map(packed, value))
    return b"\xdf" + struct.pack(">I", len(value)) + b"".join(packed(k) + packed(v) for k, v in value.items())


def _plain_payload(**changes: Any) -> dict[str, Any]:
    model = preprocessing.StandardScaler()
    fields = {
        "written_by": "0.1.0",
        "description": json.dumps(model.describe()),
        "schema": {"numbered": 0, "names": [], "kinds": b"", "values": []},
        "labels": [],
        "learned": 0,
        "state": packed({"shared_count": 0.0, "counts": [], "means": [], "squares": []}),
    }
    return {**fields, **changes}


def test_a_payload_written_by_hand_loads() -> None:
    model = millstream.from_bytes(sealed(packed(_plain_payload())))
    assert model.to_bytes() == preprocessing.StandardScaler().to_bytes()


def _schema(**changes: Any) -> dict[str, Any]:
    return {"numbered": 0, "names": ["a"], "kinds": b"\1", "values": [], **changes}


FORGED: list[dict[str, Any]] = [
    {"description": "{}"},
    {"description": "not json"},
    {"description": "[" * 5000},
    {"description": '{"name":' * 5000},
    {"description": json.dumps({"name": "no.Such"})},
    {"description": json.dumps({"name": "optim.SGD"})},
    {"description": json.dumps({"name": "preprocessing.StandardScaler", "parameters": {"with_mean": 3}})},
    {"description": json.dumps({"name": "compose.Pipeline", "parameters": {"steps": []}})},
    {
        "description": json.dumps(
            {"name": "compose.Pipeline", "parameters": {"steps": ["preprocessing.StandardScaler"]}}
        )
    },
    {"schema": _schema(kinds=b"\3")},
    {"schema": _schema(kinds=b"\1\1")},
    {"schema": _schema(numbered=2**32 - 1)},
    {"schema": _schema(numbered=1, names=[], kinds=b"")},
    {"schema": _schema(names=["a", "a"], kinds=b"\1\1")},
    {"schema": _schema(names=[0], kinds=b"\1")},
    {"schema": _schema(values=[["x"]])},
    {"schema": _schema(kinds=b"\2", values=[["x", "x"]])},
    {"schema": _schema(values=[[], [], []])},
    {"schema": None},
    {"schema": []},
    {"labels": [None]},
    {"labels": [None, None]},
    {"labels": [True, None]},
    {"labels": [1, True]},
    {"labels": ["a", "a"]},
    {"labels": [1.5]},
    {"labels": [[]]},
    {"learned": -1},
    {"learned": "many"},
    {"state": b""},
    {"state": b"\xc1"},
    {"state": packed([])},
    {"state": packed({})},
    {"state": packed({"shared_count": -1.0, "counts": [], "means": [], "squares": []})},
    {"state": packed({"shared_count": float("inf"), "counts": [], "means": [], "squares": []})},
    {"state": packed({"shared_count": 1.0, "counts": [], "means": [float("nan")], "squares": [0.0]})},
    {"state": packed({"shared_count": 1.0, "counts": [], "means": [0.0], "squares": [-1.0]})},
    {"state": packed({"shared_count": 1.0, "counts": [1.0], "means": [0.0], "squares": [1.0]})},
    {"state": packed({"shared_count": 1.0, "counts": [], "means": [0.0, 1.0], "squares": [1.0]})},
]


@pytest.mark.parametrize("changes", FORGED, ids=lambda changes: repr(changes)[:60])
def test_a_forged_payload_is_refused(changes: dict[str, Any]) -> None:
    message = refused(sealed(packed(_plain_payload(**changes))))
    assert len(message) < 600


def test_missing_fields_are_refused() -> None:
    whole = _plain_payload()
    for field in whole:
        refused(sealed(packed({name: value for name, value in whole.items() if name != field})))


ATTACKS = """
import resource, struct, sys, zlib, json
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
sys.path[:0] = [{tests!r}]
import millstream
from millstream.errors import MillstreamError
from test_state import ATTACK_PAYLOADS, sealed
for payload in ATTACK_PAYLOADS:
    try:
        millstream.from_bytes(sealed(payload))
    except MillstreamError as error:
        assert len(str(error)) < 1000
    else:
        raise SystemExit("an attack was taken for a model: %r" % payload[:80])
print("survived", len(ATTACK_PAYLOADS))
"""


def _huge(field: str, head: bytes) -> bytes:
    """A payload in which a field claims a length that is not there."""
    fields = _plain_payload()
    body = b"".join(packed(k) + (head if k == field else packed(v)) for k, v in fields.items())
    return b"\xdf" + struct.pack(">I", len(fields)) + body


def _deep(length: int) -> list[bytes]:
    return [head * length + b"\xc0" for head in (b"\x91", b"\x81\xa1a", b"\x81\xc0", b"\xdd\0\0\0\1")]


#: Lengths of four thousand million, and nesting that would use up the stack.
ATTACK_PAYLOADS: list[bytes] = [
    *(
        _huge(field, head + b"\xff\xff\xff\xff")
        for field in ("written_by", "description", "schema", "labels", "state")
        for head in (b"\xdd", b"\xdf", b"\xdb", b"\xc6", b"\xc9")
    ),
    *(_huge(field, deep) for field in ("schema", "labels", "learned") for deep in _deep(100_000)),
    *_deep(1_000_000),
    *(
        packed(_plain_payload(state=packed({"shared_count": 1.0})[:-1] + b"\xdd\xff\xff\xff\xff"))
        for _ in range(1)
    ),
    packed(_plain_payload(schema=_schema(numbered=2**32 - 1, names=[], kinds=b"\1"))),
    packed({**_plain_payload(), "more": 1})[:5] + packed("more") + b"\xdd\xff\xff\xff\xff",
]


@pytest.mark.slow
def test_nothing_in_a_file_can_ask_for_terabytes() -> None:
    code = ATTACKS.format(tests=str(Path(__file__).parent))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "survived" in done.stdout


def works(model: Any) -> None:
    """A model that was let in must do its work without a panic."""
    saved = model.to_bytes()
    assert millstream.from_bytes(saved).to_bytes() == saved
    role = model.role
    for x in (
        {"a": 1.0, "b": 2.0, "colour": "red", "late": 1.0},
        {},
        {"colour": "violet", "new": 1.0},
        {0: 1.0, 1: 2.0},
    ):
        try:
            getattr(model, role.asks[0])(x)
            if role in ("classifier", "regressor"):
                model.learn_one(x, True if role == "classifier" else 1.0)
                model.learn_one(x, False if role == "classifier" else -1.0)
            else:
                model.learn_one(x)
        except MillstreamError:
            pass
    model.inspect()
    millstream.from_bytes(model.to_bytes())


def _saved() -> list[bytes]:
    return [case.learn(case.build(), mixed(12)).to_bytes() for case in CASES]


SAVED = _saved()


@pytest.mark.slow
@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_mutated_model_is_refused_or_works(data: st.DataObject) -> None:
    payload = bytearray(payload_of(data.draw(st.sampled_from(SAVED))))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(payload) - 1))
        change = data.draw(st.sampled_from(["byte", "bit", "cut", "double", "swap"]))
        if change == "byte":
            payload[place] = data.draw(
                st.sampled_from([0, 1, 0x7F, 0x80, 0xC0, 0xC1, 0xCB, 0xDD, 0xDF, 0xFE, 0xFF])
            )
        elif change == "bit":
            payload[place] ^= 1 << data.draw(st.integers(0, 7))
        elif change == "cut":
            del payload[place : place + data.draw(st.integers(1, 9))]
        elif change == "double":
            payload[place:place] = payload[place : place + data.draw(st.integers(1, 9))]
        else:
            other = data.draw(st.integers(0, len(payload) - 1))
            payload[place], payload[other] = payload[other], payload[place]
        if not payload:
            break
    try:
        model = millstream.from_bytes(sealed(bytes(payload)))
    except MillstreamError:
        return
    works(model)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300))
def test_random_bytes_are_refused(noise: bytes) -> None:
    with pytest.raises(MillstreamError):
        millstream.from_bytes(noise)
    with pytest.raises(MillstreamError):
        millstream.from_bytes(sealed(noise))


def middles_of_floats(payload: bytes | bytearray) -> set[int]:
    """Places where any byte makes much the same number: neither sign, nor exponent, nor the last digit."""
    found: set[int] = set()
    place = 0
    while place + 8 < len(payload):
        if payload[place] == 0xCB:
            found.update(range(place + 3, place + 8))
            place += 8
        place += 1
    return found


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=repr)
def test_every_changed_byte_of_a_payload_is_refused_or_works(case: Case) -> None:
    payload = bytearray(payload_of(case.learn(case.build(), mixed(12)).to_bytes()))
    places = range(len(payload))
    if len(places) > 1200:
        # Of the many like members of an ensemble some bytes are enough.
        places = random.Random(5).sample(places, 1200)
    alike = middles_of_floats(payload)
    for place in places:
        if place in alike:
            continue
        before = payload[place]
        for byte in {0, before ^ 1, before ^ 0x80, 0xC0, 0xDD, 0xFF} - {before}:
            payload[place] = byte
            try:
                model = millstream.from_bytes(sealed(bytes(payload)))
            except MillstreamError:
                continue
            works(model)
        payload[place] = before


@pytest.mark.slow
@pytest.mark.parametrize("case", [case for case in CASES if case.role != "transformer"], ids=repr)
def test_forged_numbers_are_refused_or_predictions_stay_finite(case: Case) -> None:
    """Totals that are tiny, huge or do not fit what they are the total of."""
    payload = payload_of(case.learn(case.build(), mixed(30)).to_bytes())
    # 0xcb is the marker of a float; where it is none, the file is refused or is another valid one.
    places = [place for place in range(len(payload) - 8) if payload[place] == 0xCB]
    choose = random.Random(5)
    forged = [(place,) for place in choose.sample(places, min(len(places), 60))]
    forged += [tuple(place for place in places if choose.random() < 0.3) for _ in range(40)]
    for changed in forged:
        for number in (5e-324, 2.3e-308, 0.0, 1e300, 1.7e308):
            data = bytearray(payload)
            for place in changed:
                data[place + 1 : place + 9] = struct.pack(">d", number)
            try:
                model = millstream.from_bytes(sealed(bytes(data)))
            except MillstreamError:
                continue
            for x in ({"a": 1.0, "b": 2.0, "colour": "red"}, {}):
                try:
                    said = answer(case, model, x)
                except MillstreamError:
                    continue
                assert all(math.isfinite(value) for value in numbers_in(said)), (number, said)
                if case.role == "classifier":
                    total = sum(said[1].values())
                    assert total == pytest.approx(1.0, abs=1e-3) or not said[1], (number, said)


# Files.


def test_save_and_load(tmp_path: Path) -> None:
    model = small()
    for path in (tmp_path / "model.ms", str(tmp_path / "other.ms")):
        model.save(path)
        assert millstream.load(path).to_bytes() == model.to_bytes()
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["model.ms", "other.ms"]


def test_a_save_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.ms"
    model = small()
    model.save(path)
    before = path.read_bytes()
    model.learn_one({"a": 3.0}, True)

    def broken(*_: Any) -> None:
        raise OSError("no space left on device")

    for owner, name in ((os, "fsync"), (Path, "replace")):
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, broken)
            with pytest.raises(OSError, match="no space left"):
                model.save(path)
        assert path.read_bytes() == before
        assert [entry.name for entry in tmp_path.iterdir()] == ["model.ms"]


def test_a_save_to_no_folder_names_the_file_that_was_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "model.ms"
    with pytest.raises(FileNotFoundError) as caught:
        small().save(path)
    assert caught.value.filename == str(path)


def test_a_saved_file_has_the_permissions_of_any_new_file(tmp_path: Path) -> None:
    small().save(tmp_path / "model.ms")
    (tmp_path / "plain").write_bytes(b"")
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("model.ms", "plain")]
    assert modes[0] == modes[1]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    link = tmp_path / "model.ms"
    link.symlink_to(tmp_path / "store" / "v1.ms")
    for _ in range(2):
        small().save(link)
        assert link.is_symlink()
        assert millstream.load(tmp_path / "store" / "v1.ms").to_bytes() == small().to_bytes()
    assert [entry.name for entry in (tmp_path / "store").iterdir()] == ["v1.ms"]


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    model = linear_model.LogisticRegression()
    model.learn_one({f"feature {number}": 1.0 for number in range(20_000)}, True)
    with ThreadPoolExecutor(1) as pool:
        got = pool.submit(pipe.read_bytes)
        model.save(pipe)
        assert got.result(60) == model.to_bytes()
    assert pipe.is_fifo()


def test_what_cannot_be_loaded_says_why(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        millstream.load(tmp_path / "nothing.ms")
    with pytest.raises(InvalidState, match="is a directory"):
        millstream.load(tmp_path)
    (tmp_path / "empty.ms").write_bytes(b"")
    with pytest.raises(InvalidState, match="not a saved model"):
        millstream.load(tmp_path / "empty.ms")
    with pytest.raises(FileNotFoundError):
        small().save(tmp_path / "no folder" / "model.ms")


def test_attributes_of_a_subclass_survive_pickle() -> None:
    model = small()
    model.note = {"trained by": "me"}
    copied = pickle.loads(pickle.dumps(model))
    assert copied.note == {"trained by": "me"}
    assert copied.note is not model.note


# Golden files.

_SPEC = importlib.util.spec_from_file_location("make", Path(__file__).parent / "golden" / "make.py")
assert _SPEC is not None
assert _SPEC.loader is not None
make: Any = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(make)
GOLDEN = sorted(make.FOLDER.glob("*.ms"))


PARTS = make.parts()


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_a_golden_file_keeps_loading(path: Path) -> None:
    """Before a format is released: python tests/golden/make.py --again."""
    record = json.loads(path.with_suffix(".json").read_text())
    thing = millstream.load(path)
    # Parameters that have come since have their defaults.
    assert thing.describe() == millstream.build(record["describe"]).describe()
    assert same(make.said(PARTS[path.stem], thing), record["said"])
    assert millstream.from_bytes(thing.to_bytes()).to_bytes() == thing.to_bytes()


def same(a: Any, b: Any) -> bool:
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    return math.isclose(a, b, rel_tol=1e-12) if isinstance(a, float) else bool(a == b)


@pytest.mark.slow  # Not slow: but a part may come before its file does, and both before a release.
def test_every_part_has_a_golden_file() -> None:
    assert set(PARTS) == {path.stem for path in GOLDEN}, "run python tests/golden/make.py"


def test_what_cannot_be_loaded_is_named(tmp_path: Path) -> None:
    path = tmp_path / "model.ms"
    linear_model.LogisticRegression().save(path)
    with pytest.raises(MissingFile, match=r"there is no file '.*modle\.ms', did you mean 'model\.ms'\?"):
        millstream.load(tmp_path / "modle.ms")
    table = tmp_path / "data.csv"
    table.write_text("a,b\n1,2\n")
    with pytest.raises(InvalidState, match=r"^millstream: .*data\.csv cannot be loaded: not a saved model"):
        millstream.load(table)
