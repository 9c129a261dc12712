"""What every stream can do: take, skip, shuffle, repeat, map, filter, batch, split; and reading ahead."""

from __future__ import annotations

import copy
import datetime
import pickle
import re
import threading
import time
from collections import Counter, defaultdict
from typing import Any

import numpy as np
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millstream import evaluate, linear_model, preprocessing, stream, synth
from millstream.errors import InvalidType, InvalidValue, UnknownName
from millstream.stream.joined import joined
from millstream.stream.prefetch import read_ahead

quickly = settings(deadline=None, max_examples=50)

KINDS = ["matrix", "arrow", "sparse", "dicts"]


class Rows(stream.Stream):
    """Rows 0, 1, 2, … cut at will, in one of the forms of X."""

    def __init__(self, sizes, kind="matrix", fails=False):
        self.sizes, self.kind, self.fails = list(sizes), kind, fails
        self.time, self.weight = "at", "w"

    def chunks(self):
        start = 0
        for size in self.sizes:
            numbers = np.arange(start, start + size, dtype=np.float64)
            start += size
            yield stream.Chunk(
                make(numbers, self.kind), numbers.astype(np.int64), numbers + 1, time=(numbers + 2).tolist()
            )
        if self.fails:
            raise OSError("the disk is gone")

    @property
    def n_samples(self):
        return sum(self.sizes)


def make(numbers, kind):
    if kind == "matrix":
        return np.stack([numbers, numbers * 10], axis=1)
    if kind == "arrow":
        return pyarrow.table({"a": numbers, "b": [f"t{int(number) % 3}" for number in numbers]})
    if kind == "sparse":
        starts = np.arange(len(numbers) + 1)
        return stream.Sparse(starts, np.full(len(numbers), 5), numbers, 8)
    return [{"a": number, "b": f"t{int(number) % 3}"} for number in numbers.tolist()]


def flat(source):
    """All rows of a stream; each checks that what lies beside it went along."""
    rows = []
    for chunk in source.chunks():
        assert len(chunk) > 0
        for (x, y), w, at in zip(chunk.examples(), np.asarray(chunk.w), list(chunk.time), strict=True):
            assert (w, at) == (y + 1, y + 2)
            assert next(iter(x.values())) == y
            rows.append(y)
    return rows


sizes = st.lists(st.integers(1, 40), max_size=6)
kinds = st.sampled_from(KINDS)


@quickly
@given(sizes, kinds, st.integers(0, 100))
def test_take_and_skip_share_a_stream(sizes, kind, n):
    source = Rows(sizes, kind)
    everything = list(range(sum(sizes)))
    assert flat(source.take(n)) == everything[:n]
    assert flat(source.skip(n)) == everything[n:]
    assert source.take(n).n_samples == len(everything[:n])
    assert source.skip(n).n_samples == len(everything[n:])


@quickly
@given(sizes, kinds, st.integers(1, 50))
def test_batches_are_even(sizes, kind, n):
    batched = Rows(sizes, kind).batch(n)
    lengths = [len(chunk) for chunk in batched.chunks()]
    assert flat(batched) == list(range(sum(sizes)))
    assert all(length == n for length in lengths[:-1])
    assert all(1 <= length <= n for length in lengths[-1:])


@quickly
@given(sizes, kinds, st.integers(1, 60), st.integers(0, 5))
def test_shuffle_gives_each_example_once_whatever_the_cut(sizes, kind, buffer, seed):
    rows = sum(sizes)
    shuffled = flat(Rows(sizes, kind).shuffle(buffer, seed=seed))
    assert sorted(shuffled) == list(range(rows))
    assert shuffled == flat(Rows([rows] if rows else [], kind).shuffle(buffer, seed=seed))
    # No example comes more than a buffer before its turn.
    assert all(y <= place + buffer for place, y in enumerate(shuffled))


def test_shuffle_by_the_definition():
    """The same draws, one row at a time: each new row takes the place of a random one."""
    random = np.random.default_rng(7)
    held, expected = list(range(10)), []
    for row in range(10, 500):
        slot = int(random.random() * 10)
        expected.append(held[slot])
        held[slot] = row
    expected += [held[place] for place in random.permutation(10)]
    assert flat(Rows([200, 300]).shuffle(10, seed=7)) == expected


def test_shuffle_of_one_changes_nothing_and_seeds_matter():
    assert flat(Rows([50]).shuffle(1, seed=3)) == list(range(50))
    assert flat(Rows([50]).shuffle(20, seed=1)) != flat(Rows([50]).shuffle(20, seed=2))
    assert flat(Rows([50]).shuffle(20)) != flat(Rows([50]).shuffle(20))
    # All places are reached, and about equally: the mean place of the first example is the middle.
    places = [flat(Rows([20]).shuffle(20, seed=seed)).index(0) for seed in range(400)]
    assert set(places) == set(range(20))
    assert abs(np.mean(places) - 9.5) < 1.2


@quickly
@given(sizes, st.integers(0, 4))
def test_repeat(sizes, passes):
    repeated = Rows(sizes).repeat(passes)
    assert flat(repeated) == list(range(sum(sizes))) * passes
    assert repeated.n_samples == sum(sizes) * passes


def test_repeat_without_end():
    endless = Rows([3]).repeat()
    assert endless.endless
    assert endless.n_samples is None
    assert endless.take(8).n_samples == 8
    assert flat(endless.take(8)) == [0, 1, 2, 0, 1, 2, 0, 1]
    assert flat(Rows([]).repeat()) == []


def test_take_reads_nothing_behind_it():
    assert flat(Rows([5, 5], fails=True).take(10)) == list(range(10))
    with pytest.raises(OSError, match="gone"):
        flat(Rows([5, 5], fails=True).take(11))


@pytest.mark.parametrize("kind", KINDS)
def test_map_and_filter(kind):
    source = Rows([4, 6], kind)
    first = next(iter(next(iter(source))[0]))
    mapped = source.map(lambda x: {**x, "more": 1.0})
    assert flat(mapped) == list(range(10))
    assert all(x["more"] == 1.0 for x, _ in mapped)
    assert mapped.n_samples == 10
    assert flat(source.filter(lambda x: x[first] > 6)) == [7, 8, 9]
    assert flat(source.filter(lambda x, y: y > 6)) == [7, 8, 9]
    assert flat(source.filter_chunks(lambda chunk: chunk.y % 2 == 0)) == [0, 2, 4, 6, 8]
    assert flat(source.map_chunks(lambda chunk: chunk.cut(0, 2))) == [0, 1, 4, 5]
    assert source.filter(lambda x: True).n_samples is None
    if kind != "sparse":
        assert mapped.schema == {**source.schema, "more": "number"}


def test_filter_by_an_arrow_expression():
    import pyarrow.compute as compute

    source = Rows([4, 6], "arrow").filter_chunks(lambda chunk: compute.equal(chunk.X["b"], "t1"))
    assert flat(source) == [1, 4, 7]


def failing(x):
    if x[0] == 7:
        raise ZeroDivisionError("seven")
    return x


def test_what_fails_is_raised_after_the_examples_before_it():
    for broken, before in [
        (Rows([4, 6]).map(failing), 7),
        (Rows([4, 6]).filter(failing), 7),
        (Rows([4, 6]).map(failing).batch(5), 7),
        (Rows([4, 6], fails=True).batch(7), 10),
        (Rows([4, 6], fails=True).shuffle(5), 10),
        (Rows([4, 6], fails=True).repeat(3), 10),
    ]:
        rows = []
        with pytest.raises((ZeroDivisionError, OSError)):
            rows.extend(y for _, y in broken)
        assert sorted(rows) == list(range(before)), broken
        model = linear_model.LinearRegression()
        with pytest.raises((ZeroDivisionError, OSError)):
            evaluate.prequential(model, broken, delay=0, progress=False)
        assert model.learned == before


def test_wrong_arguments():
    source = Rows([3])
    for wrong in (
        lambda: source.take(-1),
        lambda: source.take(1.5),
        lambda: source.take(True),
        lambda: source.skip("a"),
        lambda: source.shuffle(0),
        lambda: source.shuffle(3, seed=-1),
        lambda: source.repeat(-1),
        lambda: source.batch(0),
    ):
        with pytest.raises(InvalidValue, match="stream.[a-z]+: [a-z]+ must be an integer, at least"):
            wrong()
    assert flat(source.take(1e0)) == flat(source.take(np.uint8(1))) == [0]
    for wrong in (
        lambda: source.map(3),
        lambda: source.filter(None),
        lambda: list(source.map(lambda x: 3)),
        lambda: list(source.map_chunks(lambda chunk: 3)),
        lambda: list(source.filter_chunks(lambda chunk: [True])),
        lambda: list(source.filter_chunks(lambda chunk: chunk.y)),
        lambda: source.split(1.5),
    ):
        with pytest.raises(InvalidType, match="stream.[a-z_]+: "):
            wrong()


def test_names_times_and_words():
    source = Rows([3])
    for verb, made in [
        ("take(2)", source.take(2)),
        ("skip(2)", source.skip(2)),
        ("shuffle(5, seed=1)", source.shuffle(5, seed=1)),
        ("shuffle(5)", source.shuffle(5)),
        ("repeat(2)", source.repeat(2)),
        ("repeat(None)", source.repeat()),
        ("map(failing)", source.map(failing)),
        ("filter(failing)", source.filter(failing)),
        ("map_chunks(failing)", source.map_chunks(failing)),
        ("filter_chunks(failing)", source.filter_chunks(failing)),
        ("batch(2)", source.batch(2)),
    ]:
        assert (made.time, made.weight, made.target, made.label_time) == ("at", "w", None, None)
        assert repr(made) == f"Rows(weight='w', time='at').{verb}"
        assert list(made.take(0)) == []
    chained = source.skip(1).repeat(2).shuffle(3, seed=1)
    assert list(pickle.loads(pickle.dumps(chained))) == list(chained) == list(copy.deepcopy(chained))


@pytest.mark.parametrize("kind", KINDS)
def test_how_a_stream_looks(kind):
    source = Rows([30], kind)
    expected = {
        "matrix": {0: "number", 1: "number"},
        "arrow": {"a": "number", "b": "nominal"},
        "sparse": {},
        "dicts": {"a": "number", "b": "nominal"},
    }
    assert source.schema == source.shuffle(3).take(5).schema == expected[kind]
    page = source._repr_html_()
    assert "30 examples" in page
    assert "time at" in page
    assert page.count("<tr") == 7
    assert "&lt;lambda&gt;" in source.map(lambda x: x)._repr_html_()


def test_a_wide_stream_is_shown_in_part():
    class Wide(stream.Stream):
        target = "<b>"

        def chunks(self):
            yield stream.Chunk(np.zeros((2, 50)), ["<script>", None])

    page = Wide()._repr_html_()
    assert "38 more" in page
    assert "<script>" not in page
    assert "<b>" not in page


# Joining.


def test_unlike_chunks_join_without_changing_a_value():
    first = stream.Chunk(np.array([[1, 2]]), np.array([1]))
    second = stream.Chunk(np.array([[1.5, 2.5, 3.5]]), np.array([1.0]), w=np.array([2.0]))
    third = stream.Chunk([{"a": None}], ["x"], time=[3])
    whole = joined([first, second, third])
    assert list(_dicts(whole)) == [{0: 1, 1: 2}, {0: 1.5, 1: 2.5, 2: 3.5}, {"a": None}]
    assert list(map(repr, whole.y)) == ["1", "1.0", "'x'"]
    assert list(whole.w) == [1.0, 2.0, 1.0]
    assert list(whole.time) == [None, None, 3]
    arrow = [stream.Chunk(pyarrow.table({"a": [number]}), pyarrow.array([number])) for number in (1, 2.5)]
    whole = joined(arrow)
    assert list(whole.examples()) == [({"a": 1}, 1), ({"a": 2.5}, 2.5)]


def _dicts(chunk):
    return [x for x, _ in chunk.examples()]


class Identities(stream.Stream):
    """Nominal values that are all new in every chunk, numbered from 0 in one byte."""

    def chunks(self):
        for part in range(400):
            names = [f"{part}-{row}" for row in range(100)]
            column = pyarrow.DictionaryArray.from_arrays(pyarrow.array(np.arange(100), pyarrow.int8()), names)
            yield stream.Chunk(pyarrow.table({"name": column}), names)


def test_nominal_values_join_and_do_not_pile_up():
    assert all(x["name"] == y for x, y in Identities().batch(333).take(1000))
    rows = 0
    for chunk in Identities().shuffle(500, seed=1).chunks():
        assert len(chunk.X["name"].combine_chunks().dictionary) <= len(chunk)
        assert all(x["name"] == y for x, y in chunk.examples())
        rows += len(chunk)
    assert rows == 40000
    for value, chunk in Identities().take(300).split(lambda x: x["name"][-1]).chunks():
        assert len(chunk.X["name"].combine_chunks().dictionary) == len(chunk) == 10
        assert all(name.endswith(value) for name in chunk.y)
    nothing = next(Identities().chunks()).take(np.arange(0))
    assert list(nothing.examples()) == []


def test_sparse_rows_join_after_a_cut():
    rows = stream.Sparse(np.array([0, 2, 2, 3]), np.array([0, 4, 1]), np.array([1.0, 2.0, 3.0]), 5)
    cut = stream.Chunk(rows.cut(1, 3), [0, 1])
    whole = joined([cut, stream.Chunk(rows, [2, 3, 4]), cut])
    assert _dicts(whole) == [{}, {1: 3.0}, {0: 1.0, 4: 2.0}, {}, {1: 3.0}, {}, {1: 3.0}]
    assert whole.X.width == 5


# By key.


class Plant(stream.Stream):
    """Readings of some devices."""

    target = "y"

    def __init__(self, kind="dicts", repeatable=True):
        self.kind, self.repeatable = kind, repeatable

    def chunks(self):
        for start in range(0, 60, 20):
            rows = [{"device": "abc"[i * i % 3], "load": float(i)} for i in range(start, start + 20)]
            X = pyarrow.Table.from_pylist(rows) if self.kind == "arrow" else rows
            if self.kind == "matrix":
                X = np.array([["abc".index(x["device"]), x["load"]] for x in rows])
            yield stream.Chunk(X, [x["load"] for x in rows])


@pytest.mark.parametrize("kind", ["dicts", "arrow", "matrix"])
def test_split(kind):
    key = 0 if kind == "matrix" else "device"
    devices = Plant(kind).split(key)
    names = [0.0, 1.0] if kind == "matrix" else ["a", "b"]
    assert list(devices) == names
    assert len(devices) == 2
    rows = defaultdict(list)
    for name, chunk in devices.chunks():
        rows[name] += chunk.examples()
    assert dict(rows) == {name: list(part) for name, part in devices.items()}
    assert {name: len(part) for name, part in rows.items()} == {names[0]: 20, names[1]: 40}
    assert all(len(x) == 1 for part in rows.values() for x, _ in part)
    assert [y for _, y in rows[names[0]]] == [float(i) for i in range(0, 60, 3)]
    assert devices[names[0]].target == "y"


def test_split_by_function_and_by_target():
    halves = Plant().split(lambda x: x["load"] < 30)
    assert list(halves) == [True, False]
    assert len(list(halves[False])) == 30
    assert len(list(Plant().split("y"))) == 60


def test_split_suggests_and_explains():
    with pytest.raises(UnknownName, match="no example has 'device' 'B'"):
        Plant().split("device")["B"]
    with pytest.raises(UnknownName, match="there is no column 'divice', did you mean 'device'"):
        list(Plant("arrow").split("divice"))
    once = Plant(repeatable=False).split("device")
    assert Counter(name for name, _ in once.chunks()) == {"a": 3, "b": 3}
    with pytest.raises(InvalidValue, match="can be read only once"):
        list(once)


def test_split_of_an_endless_stream_finds_what_is_there():
    part = Plant().repeat().split("device")["b"]
    assert len(list(part.take(100))) == 100


# With models and evaluation.


@pytest.mark.parametrize("kind", KINDS)
def test_a_stream_is_learned_by_its_chunks(kind):
    source = Rows([40, 60], kind)
    model, loop = linear_model.LinearRegression(), linear_model.LinearRegression()
    answers = [model.step_many(chunk.X, chunk.y) for chunk in source.batch(33).chunks()]
    expected = [loop.step_one(x, y) for x, y in source]
    assert np.concatenate(answers).tolist() == expected
    if kind != "sparse":  # whose columns have slots before they have values
        assert model.to_bytes() == loop.to_bytes()


def test_a_stream_in_the_wrong_place_says_where_it_belongs():
    model = linear_model.LinearRegression()
    with pytest.raises(InvalidType, match="got a stream: pass it to evaluate.prequential"):
        model.learn_many(Rows([3]))
    with pytest.raises(InvalidType, match=r"got a chunk: pass chunk.X and chunk.y"):
        model.learn_many(next(Rows([3]).chunks()))


class Late(stream.Stream):
    """Labels that come by time, from rows of either form."""

    time, label_time, target = "at", "label_at", "y"

    def __init__(self, dicts):
        self.dicts = dicts

    def chunks(self):
        random = np.random.default_rng(1)
        start = datetime.datetime(2024, 1, 1)
        for part in range(5):
            X = random.normal(size=(50, 2))
            at = [start + datetime.timedelta(minutes=part * 50 + row) for row in range(50)]
            waits = [datetime.timedelta(minutes=int(wait)) for wait in X[:, 0] * 9 + 30]
            later = [moment + wait for moment, wait in zip(at, waits, strict=True)]
            rows = [{"a": a, "b": b} for a, b in X.tolist()]
            yield stream.Chunk(
                rows if self.dicts else pyarrow.Table.from_pylist(rows), X[:, 0] > 0, time=at, label_time=later
            )


def test_times_of_dicts_are_those_of_a_table():
    def run(source, **options):
        model = preprocessing.StandardScaler() | linear_model.LogisticRegression()
        result = evaluate.prequential(model, source, "LogLoss", progress=False, **options)
        return result["LogLoss"], model.to_bytes()

    hour = datetime.timedelta(hours=1)
    expected = run(Late(False))
    assert run(Late(True)) == run(Late(False).map(lambda x: x)) == expected
    assert run(Late(False).batch(17)) == run(Late(True).take(250)) == expected
    assert run(Late(False), time="at", label_time="label_at") == expected
    assert run(Late(True), delay=0) == run(Late(False), delay=0) != expected
    by_time = run(Late(False), delay=hour)
    assert run(Late(True), delay=hour) == run(Late(True), time="at", delay=hour) == by_time
    assert run(Late(True), delay=lambda x, y: hour) == run(Late(False), delay=lambda x, y: hour) == by_time


# Reading ahead.


def test_reading_ahead_keeps_order_and_failures():
    assert list(read_ahead(iter(range(100)))) == list(range(100))

    def broken():
        yield from range(10)
        raise OSError("gone")

    found = []
    with pytest.raises(OSError, match="gone"):
        found.extend(read_ahead(broken()))
    assert found == list(range(10))


def test_reading_ahead_is_bounded_and_ends():
    read, closed = [], threading.Event()

    def source():
        try:
            for number in range(1000):
                read.append(number)
                yield number
        finally:
            closed.set()

    items = read_ahead(source(), depth=2)
    assert next(items) == 0
    time.sleep(0.05)
    assert len(read) <= 5
    items.close()
    assert closed.wait(1)
    assert not any(thread.name == "millstream-reader" for thread in threading.enumerate())


def test_prequential_reads_ahead_with_the_same_result():
    class Ahead(Rows):
        reads_ahead = True

    def run(source):
        model = linear_model.LinearRegression()
        result = evaluate.prequential(model, source, progress=False)
        return result.rows, result.values, model.to_bytes()

    assert run(Ahead([100, 3, 200]).take(250)) == run(Rows([100, 3, 200]).take(250))
    model = linear_model.LinearRegression()
    with pytest.raises(OSError, match="gone"):
        evaluate.prequential(model, Ahead([100, 3], fails=True), progress=False)
    assert model.learned == 103
    bad = Ahead([5] * 10).map_chunks(lambda chunk: stream.Chunk(chunk.X, [1.0, 2.0, np.inf, 3.0, 4.0]))
    with pytest.raises(ValueError, match="row 2"):
        evaluate.prequential(linear_model.LinearRegression(), bad, progress=False)
    assert not any(thread.name == "millstream-reader" for thread in threading.enumerate())


def test_an_endless_stream_is_not_gathered_for_ever():
    endless = synth.SEA(seed=1)
    for hold in (endless.shuffle, endless.batch):
        with pytest.raises(InvalidValue, match="an endless stream"):
            hold(10**12)
    rows = endless.take(100)
    assert sum(map(len, rows.shuffle(10**12, seed=1).chunks())) == 100
    assert sum(map(len, rows.batch(10**12).chunks())) == 100


@pytest.mark.parametrize("kind", KINDS)
def test_a_chunk_takes_places_and_masks(kind):
    chunk = next(Rows([5], kind).chunks())
    mask = np.array([True, False, False, True, True])
    for places in (mask, mask.tolist(), pyarrow.array(mask), [0, 3, 4], np.array([0, 3, 4], dtype=np.uint8)):
        taken = chunk.take(places)
        assert [y for _, y in taken.examples()] == [0, 3, 4]
        assert [x for x, _ in taken.examples()] == [x for x, y in chunk.examples() if y in (0, 3, 4)]
        assert list(taken.time) == [2, 5, 6]
    assert len(chunk.take([])) == len(chunk.take(np.zeros(5, dtype=bool))) == 0
    with pytest.raises(InvalidValue, match="indices must have one bool for each of 5 rows"):
        chunk.take(mask[:3])
    with pytest.raises(InvalidType, match=r"fill gaps with fill_null\(False\)"):
        chunk.take(pyarrow.array([True, None, False, True, True]))
    with pytest.raises(InvalidType, match="indices must be integers"):
        chunk.take([0.5])


@pytest.mark.parametrize("gap", [pyarrow.array([True, None, False]), np.array([True, None, False])])
def test_a_mask_with_gaps_is_refused_with_what_fills_them(gap):
    with pytest.raises(InvalidType, match=r"must return a bool for each row.*fill_null\(False\)"):
        list(Rows([3], "arrow").filter_chunks(lambda chunk: gap))


@pytest.mark.parametrize("verb", ["map", "filter"])
@pytest.mark.parametrize("kind", KINDS)
def test_an_error_of_a_function_is_noted_with_its_row(verb, kind):
    def divided(x):
        return {"a": 1 / (next(iter(x.values())) - 7)}

    with pytest.raises(ZeroDivisionError) as caught:
        list(getattr(Rows([5, 5], kind), verb)(divided))
    assert caught.value.__notes__ == [f"in {verb}, row 7 of Rows(weight='w', time='at')"]


def test_a_column_that_is_not_there_is_noted_with_the_nearest():
    rows = stream.from_examples([({"distance": 1.0, "hour": 5}, 0)])
    with pytest.raises(KeyError) as caught:
        list(rows.map(lambda x: {"far": x["distnce"]}))
    assert caught.value.__notes__[0].endswith("which has no 'distnce', did you mean 'distance'?")
    with pytest.raises(KeyError) as caught:
        list(rows.filter(lambda x: x["zzz"]))
    assert caught.value.__notes__[0].endswith("which has no 'zzz'; it has 'distance', 'hour'")


def test_a_chunk_is_not_unpacked():
    chunk = next(Rows([3]).chunks())
    with pytest.raises(InvalidType, match=r"cannot be iterated: use chunk\.X, chunk\.y.*chunk\.examples\(\)"):
        _X, _y = chunk


@pytest.mark.parametrize(
    ("places", "message"), [(1, "shape ()"), ([5], "those of 2 rows, got 5 to 5"), ([-3], "got -3")]
)
def test_places_that_are_none(places: Any, message: str) -> None:
    (chunk,) = stream.from_numpy(np.ones((2, 1)), np.ones(2)).chunks()
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        chunk.take(places)


def test_an_error_about_a_key_that_is_a_list_stays_it() -> None:
    def fail(x: Any) -> Any:
        if x["a"] == 2:
            raise KeyError(["u"])
        return x

    found = []
    with pytest.raises(KeyError, match="u"):
        found.extend(stream.from_examples([({"a": 1}, 1), ({"a": 2}, 0)]).map(fail))
    assert len(found) == 1
