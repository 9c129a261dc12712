"""The readers of Vowpal Wabbit and libsvm text."""

from __future__ import annotations

import codecs
import gzip
import io
import pickle
import random
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from millstream import errors, evaluate, linear_model, metrics, optim, stream

BITS = 18
CONSTANT = 11650396


def rows(text: str, **options: Any) -> list[tuple[dict[int, float], Any]]:
    return list(stream.read_vw(io.StringIO(text), **{"constant": False, **options}))


def words(n: int, seed: int = 1, extremes: bool = True) -> list[str]:
    """Lines as people and programs write them."""
    noise = random.Random(seed)
    letters = "abcdefghijklmnopqrstuvwxyz0123456789_-é"
    names = ["".join(noise.choice(letters) for _ in range(noise.randint(1, 20))) for _ in range(200)]
    names += ["7", "007", "123456", "18446744073709551615", "99999999999999999999999", "a" * 8, "b" * 16, "1a"]
    lines = []
    for _ in range(n):
        parts = []
        for _ in range(noise.randint(1, 3)):
            space = noise.choice(["", "a", "words", "12", "a_long_namespace"])
            scale = noise.choice(["", "", ":2", ":0.5"]) if space else ""
            features = [
                noise.choice(names)
                + noise.choice(["", "", "", ":2", ":-0.25", ":1e-2", ":text" if extremes else ""])
                for _ in range(noise.randint(0, 30))
            ]
            parts.append(f"|{space}{scale} {noise.choice([' ', '  ']).join(features)}")
        label = noise.choice(["1", "-1", "1 2", "-1 0.5"])
        tag = noise.choice(["", "'tag", "'a/b"])
        lines.append(f"{label} {tag}{' '.join(parts)}")
    return lines


def theirs(lines: list[str], bits: int) -> list[tuple[dict[int, float], float, float, str]]:
    """What Vowpal Wabbit makes of them."""
    vowpal = pytest.importorskip("vowpalwabbit")
    workspace = vowpal.Workspace(f"--quiet -b {bits} --noconstant")
    mask = (1 << bits) - 1
    found = []
    for line in lines:
        example = workspace.example(line)
        x: dict[int, float] = {}
        for place in range(example.num_namespaces()):
            for feature in range(example.num_features_in(place)):
                index = example.feature(place, feature) & mask
                x[index] = x.get(index, 0.0) + example.feature_weight(place, feature)
        label, weight = example.get_simplelabel_label(), example.get_simplelabel_weight()
        found.append((x, label, weight, example.get_tag()))
        workspace.finish_example(example)
    workspace.finish()
    return found


def test_rows_are_those_of_vowpal_wabbit() -> None:
    lines = words(300)
    reader = stream.read_vw(io.StringIO("\n".join(lines)), bits=BITS, constant=False)
    ours = [
        (x, float(y), float(w), tag)
        for chunk, tags in reader.tagged()
        for (x, y), w, tag in zip(chunk.examples(), chunk.w, tags, strict=True)
    ]
    for line, (x, y, w, tag), (their_x, their_y, their_w, their_tag) in zip(
        lines, ours, theirs(lines, BITS), strict=True
    ):
        assert x.keys() == their_x.keys(), line
        assert list(x.values()) == pytest.approx([their_x[index] for index in x], rel=1e-5, abs=1e-7), line
        assert (y, w, tag) == (their_y, their_w, their_tag), line


def test_hashes_are_those_of_vowpal_wabbit() -> None:
    vowpal = pytest.importorskip("vowpalwabbit")
    workspace = vowpal.Workspace("--quiet -b 28")
    noise = random.Random(2)
    names = ["x", "7", "00042", "18446744073709551616", "12345678901234567890123", "é", "a b", "1.5", "-3"]
    names += ["".join(noise.choice("abcxyz019") for _ in range(noise.randint(1, 24))) for _ in range(500)]
    for name in names:
        for space in ("a", "words", "42"):
            wanted = workspace.hash_feature(name, workspace.hash_space(space))
            assert stream.hash_feature(name, space, bits=28) == wanted & (2**28 - 1), (name, space)


def test_learns_what_vowpal_wabbit_learns() -> None:
    """Plain SGD at a constant rate is the same algorithm: the same predictions, as far as VW's 32 bits go."""
    vowpal = pytest.importorskip("vowpalwabbit")
    noise = random.Random(3)
    weight = {f"w{place}": noise.gauss(0, 1) for place in range(50)}
    lines = []
    for _ in range(400):
        chosen = noise.sample(sorted(weight), 6)
        lines.append(f"{1 if sum(weight[name] for name in chosen) > 0 else -1} |t {' '.join(chosen)}")
    settings = "--sgd --noconstant --loss_function logistic -l 0.3 --power_t 0"
    workspace = vowpal.Workspace(f"--quiet -b 12 {settings}")
    wanted = []
    for line in lines:
        example = workspace.example(line)
        workspace.learn(example)
        workspace.predict(example)
        wanted.append(example.get_partial_prediction())
        workspace.finish_example(example)
    workspace.finish()
    model = linear_model.LogisticRegression(optimizer=optim.SGD(0.3), intercept=False)
    found = []
    for chunk in stream.read_vw(io.StringIO("\n".join(lines)), bits=12, constant=False).chunks():
        for place in range(len(chunk)):
            row = chunk.cut(place, place + 1)
            model.learn_many(row.X, row.y)
            found.append(model.predict_proba_one(next(row.examples())[0]).get(1, np.nan))
    # Until both classes have come there is but one to give a probability to.
    known = 1 + max([y for _, y in rows("\n".join(lines))].index(label) for label in (1, -1))
    np.testing.assert_allclose(found[known:], 1 / (1 + np.exp(-np.array(wanted[known:]))), rtol=2e-4)


def test_a_column_twice_is_added_up() -> None:
    [(x, y)] = rows("1 |a b b:2 c c")
    assert x == {stream.hash_feature("b", "a"): 3.0, stream.hash_feature("c", "a"): 2.0}
    assert y == 1
    [(x, _)] = rows("| 0:1 4:1", bits=2)
    assert x == {0: 2.0}


def test_the_constant() -> None:
    [(x, _)] = rows("1 |a b", constant=True)
    assert x[CONSTANT & (2**BITS - 1)] == 1.0


def test_labels() -> None:
    text = "1 |a b\n-1 |a c\n|a d\n0.5 3 |a e\n"
    ys = [y for _, y in rows(text)]
    assert ys[:2] == [1.0, -1.0]
    assert np.isnan(ys[2])
    assert [y for _, y in rows("1 |\n-1 |\n")] == [1, -1]
    assert all(isinstance(y, int) for _, y in rows("1 |\n-1 |\n"))
    assert all(isinstance(y, float) for _, y in rows("1 |\n-1 |\n", labels="number"))
    with pytest.raises(errors.InvalidValue, match=r"a class must be an integer, got 0\.5"):
        rows(text, labels="class")
    model = linear_model.LogisticRegression()
    with pytest.raises(errors.InvalidValue, match="row 2: .*label is missing"):
        evaluate.prequential(model, stream.read_vw(io.StringIO(text)))


@pytest.mark.parametrize(
    ("line", "column", "words"),
    [
        ("x |a b", 1, "the label must be a number, got 'x'"),
        ("1 |a b:nan", 8, "a value must be finite"),
        ("1 1 2 |a b", 5, "a base other than 0 is not supported"),
        ("age,late", 1, "a line must have a bar"),
        ("1:0.5 2:0.1 |a b", 1, "the label must be a number, got '1:0.5'"),
        ("1 |a b:1:2", 9, "a second ':'"),
        ("\0\1\2", 1, "a line must have a bar"),
    ],
)
def test_bad_lines(tmp_path: Path, line: str, column: int, words: str) -> None:
    path = tmp_path / "train.vw"
    path.write_text(f"1 |a b\n\n{line}\n-1 |a c\n")
    chunks = stream.read_vw(path).chunks()
    seen = len(next(chunks))
    with pytest.raises(errors.InvalidValue) as caught:
        next(chunks)
    assert f"{path}, line 3, column {column}: {words}" in str(caught.value)
    assert seen == 1, "the rows before it are given"
    lenient = stream.read_vw(path, on_error="skip")
    assert sum(len(chunk) for chunk in lenient.chunks()) == 2
    assert len(lenient.skipped) == 1
    assert "line 3" in str(lenient.skipped)


def test_lines_are_counted_through_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks are parsed apart, and yet a line has its place in the file, which alone has a byte order mark."""
    monkeypatch.setattr("millstream.stream.source.PIECE", 64)
    monkeypatch.setattr("millstream.stream.sparse_text.BLOCK", 100)
    lines = [b"1 |a b c d" if row % 3 else b"" for row in range(200)]
    lines[0] = codecs.BOM_UTF8 + b"1 |a b"
    lines[77] = b"x |a b"
    lines[150:171] = [codecs.BOM_UTF8 + b"1 |a b"] * 21
    path = tmp_path / "rows.vw"
    path.write_bytes(b"\r\n".join(lines))
    lenient = stream.read_vw(path, on_error="skip")
    read = sum(len(chunk) for chunk in lenient.chunks())
    assert (read, lenient.skipped.count) == (119, 22)
    wanted = [f" line {line}" for line in (78, *range(151, 172))]
    assert [reason.split(",")[1] for reason in lenient.skipped.reasons] == wanted[: len(lenient.skipped.reasons)]
    with pytest.raises(errors.InvalidValue, match="line 78, column 1"):
        list(stream.read_vw(path).chunks())


def test_sources(tmp_path: Path) -> None:
    text = "\ufeff" + "\r\n".join(words(50, extremes=False)) + "\r\n"
    plain, packed = tmp_path / "a.vw", tmp_path / "a.vw.gz"
    plain.write_bytes(text.encode())
    packed.write_bytes(gzip.compress(text.encode()))
    wanted = list(stream.read_vw(plain))
    assert len(wanted) == 50
    assert list(stream.read_vw(packed)) == wanted
    assert list(stream.open(packed)) == wanted
    again = pickle.loads(pickle.dumps(stream.read_vw(plain)))
    assert list(again) == wanted == list(again)
    (tmp_path / "cut.vw.gz").write_bytes(gzip.compress(text.encode())[:-9])
    with pytest.raises(errors.Unreadable, match=r"cut\.vw\.gz"):
        list(stream.read_vw(tmp_path / "cut.vw.gz"))
    with pytest.raises(FileNotFoundError, match="there is no file"):
        stream.read_vw(tmp_path / "b.vw")
    with pytest.raises(errors.Unreadable, match="is a directory"):
        stream.read_vw(tmp_path)
    (tmp_path / "empty.vw").write_text("\n \n")
    with pytest.raises(errors.InvalidValue, match="there are no rows"):
        list(stream.read_vw(tmp_path / "empty.vw"))


def test_parameters() -> None:
    for options, what in [({"bits": 0}, "bits"), ({"bits": 29}, "bits"), ({"labels": "x"}, "labels")]:
        with pytest.raises(errors.InvalidValue, match=what):
            stream.read_vw("-", **options)
    with pytest.raises(errors.InvalidValue, match="on_error"):
        stream.read_vw("-", on_error="ignore")
    assert stream.read_vw("-", bits=np.int64(20)).bits == 20
    assert stream.read_libsvm("-", n_features=np.uint8(9)).n_features == 9
    with pytest.raises(errors.InvalidValue, match=r"read_vw: bits must be an integer in \[1, 28\], got bool True"):
        stream.read_vw("-", bits=True)
    with pytest.raises(errors.InvalidValue, match="constant must be True or False, got 'false'"):
        stream.read_vw("-", constant="false")
    with pytest.raises(errors.InvalidValue, match="n_features must be an integer"):
        stream.read_libsvm("-", n_features=1.5)


def test_a_reader_shows_the_call_that_makes_it(tmp_path: Path) -> None:
    path = tmp_path / "rows.vw"
    path.write_text("1 |a b\n")
    shown = f"stream.read_vw({str(path)!r}, bits=12, constant=False, on_error='skip', follow=True, idle=0.5)"
    assert repr(stream.read_vw(path, bits=12, constant=False, on_error="skip", follow=True, idle=0.5)) == shown
    assert repr(eval(shown)) == shown
    assert repr(stream.read_vw(path)) == f"stream.read_vw({str(path)!r})"
    shown = f"stream.read_libsvm({str(path)!r}, n_features=9, zero_based=False, labels='class')"
    assert repr(stream.read_libsvm(path, n_features=9, zero_based=False, labels="class")) == shown


def test_growing(tmp_path: Path) -> None:
    path = tmp_path / "grows.vw"
    path.write_text("1 |a b\n-1 |a")
    found = []
    with path.open("a") as file:
        for chunk in stream.read_vw(path, follow=True, idle=0.3, constant=False).chunks():
            found += list(chunk.examples())
            if len(found) == 1:
                file.write(" c\n1 |a d\n")
                file.flush()
    column = [stream.hash_feature(name, "a") for name in "bcd"]
    assert found == [({column[0]: 1.0}, 1), ({column[1]: 1.0}, -1), ({column[2]: 1.0}, 1)]


def test_how_a_file_is_cut_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from millstream.stream import sparse_text

    path = tmp_path / "a.vw"
    path.write_text("\n".join(words(200, extremes=False)))

    def saved() -> tuple[bytes, float]:
        model = linear_model.LogisticRegression(optimizer=optim.AdaGrad(), intercept=False)
        result = evaluate.prequential(model, stream.read_vw(path, bits=12), metrics=metrics.LogLoss())
        return model.to_bytes(), result.metrics["LogLoss"].get()

    whole = saved()
    monkeypatch.setattr(sparse_text, "ROWS", 7)
    monkeypatch.setattr("millstream.stream.source.PIECE", 100)
    assert saved() == whole


def test_rows_that_are_kept_stay_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The memory of a chunk goes to later ones, but not before both of its arrays are gone."""
    monkeypatch.setattr("millstream.stream.source.PIECE", 2000)
    monkeypatch.setattr("millstream.stream.sparse_text.BLOCK", 2000)
    path = tmp_path / "numbers.vw"
    path.write_text("".join(f"1 |a x:{row + 2} y{row % 7}:{row + 3}\n" for row in range(4000)))
    whole = [
        (chunk.X.indices, chunk.X.values) for chunk in stream.read_vw(path.open("rb"), constant=False).chunks()
    ]
    indices, values = (np.concatenate([part[place] for part in whole]) for place in (0, 1))
    kept: list[tuple[str, int, Any]] = []
    addresses, entries = set(), 0
    for number, chunk in enumerate(stream.read_vw(path, constant=False).chunks()):
        X = chunk.X
        addresses.add(X.values.ctypes.data)
        if number % 4 == 0:
            kept.append(("indices", entries, X.indices[1:]))
        if number % 4 == 1:
            kept.append(("values", entries, X.values[1:]))
        entries += len(X.values)
    assert entries == len(values) == 8000
    for what, start, part in kept:
        expected = (indices if what == "indices" else values)[start + 1 : start + 1 + len(part)]
        assert part.tolist() == expected.tolist()
    assert len(kept) >= 20
    assert len(addresses) < number


@pytest.mark.slow
def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    block = "\n".join(words(3000, extremes=False)) + "\n"

    def peak(times: int) -> int:
        path = tmp_path / f"{times}.vw"
        path.write_text(block * times)
        tracemalloc.start()
        for _ in stream.read_vw(path).chunks():
            pass
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    assert peak(20) < 1.5 * peak(5)


# libsvm


def test_as_scikit_learn(tmp_path: Path) -> None:
    datasets = pytest.importorskip("sklearn.datasets")
    noise = np.random.default_rng(1)
    X = noise.normal(size=(300, 40)) * (noise.random((300, 40)) < 0.2)
    X[0, -1] = 1.0
    y = noise.integers(0, 3, 300)
    for zero_based in (True, False):
        path = tmp_path / f"{zero_based}.svm"
        datasets.dump_svmlight_file(X, y, str(path), zero_based=zero_based, comment="made for a test", query_id=y)
        wanted, labels = datasets.load_svmlight_file(str(path), n_features=40, zero_based=zero_based)
        for stated in (zero_based, "auto"):
            chunks = list(stream.read_libsvm(path, n_features=40, zero_based=stated).chunks())
            found = np.concatenate([_dense(chunk.X, 40) for chunk in chunks])
            np.testing.assert_array_equal(found, wanted.toarray())
            np.testing.assert_array_equal(np.concatenate([chunk.y for chunk in chunks]), labels)
            assert chunks[0].y.dtype == np.int64
    assert [len(chunk) for chunk in stream.open(path).chunks()] == [300]


def _dense(sparse: Any, width: int) -> np.ndarray:
    out = np.zeros((len(sparse), width))
    for row in range(len(sparse)):
        part = sparse.cut(row, row + 1)
        out[row, part.indices] = part.values
    return out


def test_libsvm_bad_lines() -> None:
    for line, words in [
        ("1,2 1:1", "a row must have one label, got several: '1,2'"),
        ("1 0:1 2:x", "a value must be a finite number, got 'x'"),
        ("1 b:1", "an index must be an integer"),
        ("spam 1:1", "the label must be a number"),
        ("1 1e3:1", "an index must be an integer"),
    ]:
        with pytest.raises(errors.InvalidValue, match=f"StringIO, line 2, column .*{words}"):
            list(stream.read_libsvm(io.StringIO(f"1 0:1\n{line}\n")))
    with pytest.raises(errors.InvalidValue, match="pass zero_based=True"):
        list(stream.read_libsvm(io.StringIO("1 0:1\n"), zero_based=False))
    with pytest.raises(errors.InvalidValue, match="beyond the 3 columns of n_features"):
        list(stream.read_libsvm(io.StringIO("1 4:1\n"), n_features=3))


def test_libsvm_widens() -> None:
    model = linear_model.LinearRegression()
    for text in ("1 1:1\n", "2 5:1\n", "3 2:1\n"):
        for chunk in stream.read_libsvm(io.StringIO(text)).chunks():
            model.learn_many(chunk.X, chunk.y)
    assert model.predict_many(stream.Sparse(np.array([0, 1]), np.array([4]), np.array([1.0]), 5))[0] != 0.0


@pytest.mark.parametrize("reader", [stream.read_vw, stream.read_libsvm])
def test_any_bytes(reader: Any) -> None:
    noise = random.Random(4)
    for _ in range(300):
        text = bytes(noise.choice(b"1 |a:.\n\r\t'-#,\xff\x00eq0") for _ in range(noise.randint(0, 200)))
        try:
            for chunk in reader(io.BytesIO(text), on_error="skip").chunks():
                assert np.isfinite(chunk.X.values).all()
        except errors.InvalidValue as error:
            if "there are no rows" not in str(error):
                raise
