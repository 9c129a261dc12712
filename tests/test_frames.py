"""Matrices and frames of every make give the model the same numbers as dicts do."""

from __future__ import annotations

import contextlib
import decimal
import math
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow
import pytest
import scipy.sparse
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

import millstream
from millstream import linear_model, preprocessing
from millstream.errors import MillstreamError
from streams import Case, answer, cases, fit, learn_one, numbers_in, numeric

HEIGHT = 40
_X, _NUMBERS = numeric(HEIGHT, width=3)
Y = _NUMBERS > 0


def model() -> Any:
    return preprocessing.StandardScaler() | linear_model.LogisticRegression()


def by_dicts(rows: list[dict[Any, Any]]) -> bytes:
    learned = model()
    for x, y in zip(rows, Y.tolist(), strict=True):
        learned.learn_one(x, y)
    return bytes(learned.to_bytes())


def by_batch(rows: Any) -> bytes:
    learned = model()
    learned.learn_many(rows, Y)
    stepped = model()
    stepped.step_many(rows, Y)
    assert stepped.to_bytes() == learned.to_bytes()
    return bytes(learned.to_bytes())


def numbered(matrix: Any) -> list[dict[Any, Any]]:
    return [dict(enumerate(row)) for row in np.asarray(matrix, dtype=float).tolist()]


# NumPy.

DTYPES = ["f2", "f4", "f8", "longdouble", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("order", ["C", "F"])
def test_every_number_type(dtype: str, order: Any) -> None:
    matrix = np.array(np.abs(_X) * 20, order=order).astype(dtype, order=order)
    assert by_batch(matrix) == by_dicts(numbered(matrix))


@pytest.mark.parametrize("dtype", [">f8", ">f4", ">i4", ">u2", "<i8"])
def test_foreign_byte_order(dtype: str) -> None:
    matrix = (np.abs(_X) * 20).astype(dtype)
    assert by_batch(matrix) == by_dicts(numbered(matrix))


LAYOUTS = {
    "strided": lambda X: np.repeat(np.repeat(X, 3, axis=0), 2, axis=1)[::3, ::2],
    "rows backwards": lambda X: X[::-1].copy()[::-1],
    "columns backwards": lambda X: X[:, ::-1].copy()[:, ::-1],
    "both backwards, F": lambda X: np.asfortranarray(X[::-1, ::-1])[::-1, ::-1],
    "transposed": lambda X: np.ascontiguousarray(X.T).T,
    "a part of a wider one": lambda X: np.hstack([X, X])[:, :3],
    "unaligned": lambda X: np.frombuffer(b"\0" + X.tobytes(), offset=1).reshape(X.shape),
    "a field of records": lambda X: np.rec.fromarrays([X, X], names="x,y")["x"],
    "a subclass": lambda X: X.view(np.matrix),
    "broadcast": lambda X: np.broadcast_to(X, X.shape),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8"])
@pytest.mark.parametrize("read_only", [False, True])
def test_every_layout(layout: str, dtype: str, read_only: bool) -> None:
    if layout == "unaligned" and dtype != "f8":
        pytest.skip("the same for all")
    matrix = LAYOUTS[layout](np.ascontiguousarray((_X * 20).astype(dtype)))
    if read_only:
        matrix.flags.writeable = False
    assert by_batch(matrix) == by_dicts(numbered(matrix))


def test_a_broadcast_row_and_a_single_column() -> None:
    row = np.broadcast_to(_X[0], (HEIGHT, 3))
    assert by_batch(row) == by_dicts(numbered(row))
    column = _X[:, :1]
    assert by_batch(column) == by_dicts(numbered(column))


def test_the_batch_is_not_written_to() -> None:
    for matrix in (_X.copy(), np.asfortranarray(_X), _X.astype("f4")):
        before = matrix.copy()
        by_batch(matrix)
        assert (matrix == before).all()


def test_nan_is_missing_in_a_matrix() -> None:
    matrix = _X.copy()
    matrix[3, 1] = matrix[7, 0] = matrix[0, 2] = np.nan
    assert by_batch(matrix) == by_dicts(numbered(matrix))


def test_lists_and_tuples_of_rows_are_matrices() -> None:
    assert by_batch(_X.tolist()) == by_batch(_X) == by_batch(tuple(map(tuple, _X.tolist())))
    assert by_batch(list(_X)) == by_batch(_X)


def test_a_matrix_of_objects() -> None:
    matrix = np.empty((HEIGHT, 3), dtype=object)
    matrix[:, 0] = _X[:, 0]
    matrix[:, 1] = [["red", "green", None][row % 3] for row in range(HEIGHT)]
    matrix[:, 2] = [None if row % 4 == 1 else decimal.Decimal(row) for row in range(HEIGHT)]
    rows = [{0: a, 1: b, 2: None if c is None else float(c)} for a, b, c in matrix.tolist()]
    assert by_batch(matrix) == by_dicts(rows)


def test_a_matrix_of_text() -> None:
    matrix = np.array([[f"a{row % 3}", f"b{row % 2}"] for row in range(HEIGHT)])
    assert by_batch(matrix) == by_dicts([dict(enumerate(row)) for row in matrix.tolist()])


def test_a_column_of_objects_that_mixes_text_and_numbers_names_the_row() -> None:
    matrix = np.array([["red"], ["green"], [3.0]], dtype=object)
    with pytest.raises(TypeError, match=r"row 2: .*feature 0 is nominal \(a string\), got 3$"):
        model().learn_many(matrix, [True, False, True])


# pandas.


def texts() -> list[Any]:
    return [["red", "green", "blue", None][row % 4] for row in range(HEIGHT)]


def integers() -> list[int]:
    return [row % 5 for row in range(HEIGHT)]


def with_gaps(values: list[Any]) -> list[Any]:
    return [None if row % 7 == 2 else value for row, value in enumerate(values)]


def check_column(column: Any, values: list[Any], make: Any) -> None:
    """A frame of one number and this column is like its dicts."""
    rows = [{"n": n, "c": value} for n, value in zip(_X[:, 0].tolist(), values, strict=True)]
    assert by_batch(make(column)) == by_dicts(rows)


PANDAS: dict[str, tuple[Any, list[Any]]] = {
    "object text": (pandas.Series(texts(), dtype=object), texts()),
    "string": (pandas.Series(texts(), dtype="string"), texts()),
    "str": (pandas.Series(texts()), texts()),
    "string[pyarrow]": (pandas.Series(texts(), dtype="string[pyarrow]"), texts()),
    "category": (pandas.Series(texts(), dtype="category"), texts()),
    "category of ints": (
        pandas.Series(integers()).astype("category"),
        [str(value) for value in integers()],
    ),
    "ordered category": (
        pandas.Series(pandas.Categorical(texts(), categories=["blue", "unused", "red", "green"], ordered=True)),
        texts(),
    ),
    "Int64": (pandas.Series(with_gaps(integers()), dtype="Int64"), with_gaps(integers())),
    "UInt8": (pandas.Series(integers(), dtype="UInt8"), integers()),
    "Float32": (pandas.Series(with_gaps(integers()), dtype="Float32"), with_gaps(integers())),
    "boolean": (
        pandas.Series(with_gaps([value > 2 for value in integers()]), dtype="boolean"),
        with_gaps([value > 2 for value in integers()]),
    ),
    "bool": (pandas.Series([value > 2 for value in integers()]), [value > 2 for value in integers()]),
    "int64[pyarrow]": (pandas.Series(with_gaps(integers()), dtype="int64[pyarrow]"), with_gaps(integers())),
    "double[pyarrow]": (
        pandas.Series(with_gaps(_X[:, 1].tolist()), dtype="double[pyarrow]"),
        with_gaps(_X[:, 1].tolist()),
    ),
    "bool[pyarrow]": (
        pandas.Series(with_gaps([value > 2 for value in integers()]), dtype="bool[pyarrow]"),
        with_gaps([value > 2 for value in integers()]),
    ),
    "dictionary[pyarrow]": (
        pandas.Series(texts(), dtype=pandas.ArrowDtype(pyarrow.dictionary(pyarrow.int32(), pyarrow.string()))),
        texts(),
    ),
    "object numbers": (pandas.Series(with_gaps(integers()), dtype=object), with_gaps(integers())),
    "object bools": (
        pandas.Series([value > 2 for value in integers()], dtype=object),
        [value > 2 for value in integers()],
    ),
    "sparse": (pandas.Series(pandas.arrays.SparseArray(integers())), integers()),
    "all missing": (pandas.Series([None] * HEIGHT, dtype=object), [None] * HEIGHT),
    "float16": (pandas.Series(integers(), dtype="float16"), integers()),
}


@pytest.mark.parametrize("kind", PANDAS)
def test_every_pandas_column(kind: str) -> None:
    column, values = PANDAS[kind]
    check_column(column, values, lambda column: pandas.DataFrame({"n": _X[:, 0], "c": column}))


def test_a_pandas_frame_keeps_its_index_and_may_have_any() -> None:
    frame = pandas.DataFrame(_X, columns=["a", "b", "c"], index=[f"row {row}" for row in range(HEIGHT)])
    assert by_batch(frame) == by_batch(frame.reset_index(drop=True))
    assert by_batch(frame.iloc[::-1].iloc[::-1]) == by_batch(frame)
    scaled = preprocessing.StandardScaler().transform_many(frame)
    assert scaled.index.tolist() == frame.index.tolist()
    assert scaled.columns.tolist() == ["a", "b", "c"]


def test_pandas_columns_may_come_in_another_order() -> None:
    frame = pandas.DataFrame(_X, columns=["a", "b", "c"])
    learned, other = model(), model()
    for start in range(0, HEIGHT, 10):
        part = slice(start, start + 10)
        learned.learn_many(frame[part], Y[part])
        other.learn_many(frame[part] if start == 0 else frame[part][["c", "a", "b"]], Y[part])
    assert learned.to_bytes() == other.to_bytes()
    assert learned.predict_proba_many(frame).to_numpy().tolist() == (
        learned.predict_proba_many(frame[["b", "c", "a"]]).to_numpy().tolist()
    )


def test_pandas_columns_may_be_named_by_any_integers() -> None:
    frame = pandas.DataFrame(_X, columns=[5, 7, 11])
    learned = model()
    learned.learn_many(frame[:20], Y[:20])
    learned.learn_many(frame[20:], Y[20:])
    assert learned.to_bytes() == by_dicts([dict(zip((5, 7, 11), row, strict=True)) for row in _X.tolist()])


def test_pandas_frames_from_transforms_and_probabilities() -> None:
    frame = pandas.DataFrame({"a": _X[:, 0], "colour": texts()})
    scaler = preprocessing.StandardScaler()
    scaler.learn_many(frame)
    scaled = scaler.transform_many(frame)
    assert scaled["colour"].tolist() == texts()
    learned = model()
    learned.learn_many(frame, Y)
    assert learned.predict_proba_many(frame).columns.tolist() == learned.classes


# polars.

POLARS: dict[str, tuple[Any, list[Any]]] = {
    "String": (polars.Series(texts()), texts()),
    "Categorical": (polars.Series(texts(), dtype=polars.Categorical), texts()),
    "Enum": (polars.Series(texts(), dtype=polars.Enum(["blue", "unused", "green", "red"])), texts()),
    "Int64 with nulls": (polars.Series(with_gaps(integers())), with_gaps(integers())),
    "UInt8": (polars.Series(integers(), dtype=polars.UInt8), integers()),
    "Int8 with nulls": (polars.Series(with_gaps(integers()), dtype=polars.Int8), with_gaps(integers())),
    "Float32": (polars.Series(integers(), dtype=polars.Float32), integers()),
    "Float64 with nulls": (polars.Series(with_gaps(_X[:, 1].tolist())), with_gaps(_X[:, 1].tolist())),
    "Boolean": (polars.Series([value > 2 for value in integers()]), [value > 2 for value in integers()]),
    "Boolean with nulls": (
        polars.Series(with_gaps([value > 2 for value in integers()])),
        with_gaps([value > 2 for value in integers()]),
    ),
    "Decimal": (polars.Series([decimal.Decimal(value) for value in integers()]), integers()),
    "Null": (polars.Series([None] * HEIGHT), [None] * HEIGHT),
    "chunks": (polars.concat([polars.Series(integers()[:10]), polars.Series(integers()[10:])]), integers()),
    "Categorical in chunks": (
        polars.concat(
            [
                polars.Series(texts()[:9], dtype=polars.Categorical),
                polars.Series(texts()[9:], dtype=polars.Categorical),
            ],
            rechunk=False,
        ),
        texts(),
    ),
}


@pytest.mark.parametrize("kind", POLARS)
def test_every_polars_column(kind: str) -> None:
    column, values = POLARS[kind]
    check_column(column, values, lambda column: polars.DataFrame({"n": _X[:, 0], "c": column}))


@pytest.mark.parametrize(
    "column",
    [polars.Series([[1.0]] * HEIGHT), polars.Series([b"x"] * HEIGHT), polars.Series([{"a": 1}] * HEIGHT)],
    ids=["List", "Binary", "Struct"],
)
def test_polars_columns_that_are_no_features_are_refused(column: Any) -> None:
    with pytest.raises(TypeError, match="column 'c': a value must be a number, a string or None"):
        by_batch(polars.DataFrame({"n": _X[:, 0], "c": column}))


# Arrow.

ARROW: dict[str, tuple[Any, list[Any]]] = {
    "string": (pyarrow.array(texts()), texts()),
    "large_string": (pyarrow.array(texts(), pyarrow.large_string()), texts()),
    "string_view": (pyarrow.array(texts(), pyarrow.string_view()), texts()),
    "dictionary": (pyarrow.array(texts()).dictionary_encode(), texts()),
    "dictionary of ints": (pyarrow.array(integers()).dictionary_encode(), [str(value) for value in integers()]),
    "dictionary in chunks": (
        pyarrow.chunked_array(
            [pyarrow.array(texts()[:7]).dictionary_encode(), pyarrow.array(texts()[7:]).dictionary_encode()]
        ),
        texts(),
    ),
    "int16 with nulls": (pyarrow.array(with_gaps(integers()), pyarrow.int16()), with_gaps(integers())),
    "uint64": (pyarrow.array(integers(), pyarrow.uint64()), integers()),
    "float16": (pyarrow.array(np.array(integers(), dtype=np.float16)), integers()),
    "float": (pyarrow.array(integers(), pyarrow.float32()), integers()),
    "bool": (pyarrow.array([value > 2 for value in integers()]), [value > 2 for value in integers()]),
    "bool with nulls": (
        pyarrow.array(with_gaps([value > 2 for value in integers()])),
        with_gaps([value > 2 for value in integers()]),
    ),
    "decimal": (
        pyarrow.array([decimal.Decimal(value) for value in integers()], pyarrow.decimal128(10, 2)),
        integers(),
    ),
    "null": (pyarrow.nulls(HEIGHT), [None] * HEIGHT),
    "chunks": (pyarrow.chunked_array([integers()[:3], [], integers()[3:]]), integers()),
    "a slice": (pyarrow.array([9, 9, *integers(), 9])[2:-1], integers()),
}


@pytest.mark.parametrize("kind", ARROW)
def test_every_arrow_column(kind: str) -> None:
    column, values = ARROW[kind]
    check_column(column, values, lambda column: pyarrow.table({"n": _X[:, 0], "c": column}))
    if isinstance(column, pyarrow.Array):
        check_column(
            column, values, lambda column: pyarrow.record_batch({"n": pyarrow.array(_X[:, 0]), "c": column})
        )


def test_arrow_columns_that_are_no_features_are_refused() -> None:
    for column in (pyarrow.array([b"x"]), pyarrow.array([[1.0]]), pyarrow.array([{"a": 1}])):
        with pytest.raises(TypeError, match="column 'c': a value must be a number, a string or None"):
            model().learn_many(pyarrow.table({"c": column}), [True])


# Targets.

TARGETS: dict[str, Any] = {
    "list": Y.tolist(),
    "tuple": tuple(Y.tolist()),
    "numpy": Y,
    "object": Y.astype(object),
    "column": Y.reshape(-1, 1),
    "strided": np.repeat(Y, 2)[::2],
    "pandas": pandas.Series(Y, index=range(100, 100 + HEIGHT)),
    "pandas boolean": pandas.Series(Y, dtype="boolean"),
    "pandas category": pandas.Series(Y).astype("category"),
    "polars": polars.Series(Y),
    "arrow": pyarrow.array(Y),
    "arrow chunks": pyarrow.chunked_array([Y[:5], Y[5:]]),
    "generator": None,
}


@pytest.mark.parametrize("kind", TARGETS)
def test_targets_of_every_make(kind: str) -> None:
    y = (value for value in Y.tolist()) if kind == "generator" else TARGETS[kind]
    learned = model()
    learned.learn_many(_X, y)
    assert learned.to_bytes() == by_batch(_X)


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["no", "yes"]),
        np.array(["no", "yes"], dtype=object),
        np.array([0, 1], dtype=np.int8),
        np.array([3, 300], dtype=np.uint64),
        np.array([-1.0, 1.0]),
        np.array([2**60, 2**60 + 1]),
    ],
    ids=lambda labels: f"{labels.dtype}",
)
def test_labels_of_every_type(labels: Any) -> None:
    y = labels[Y.astype(int)]
    many, one = model(), model()
    many.learn_many(_X, y)
    for x, label in zip(numbered(_X), y, strict=True):
        one.learn_one(x, label)
    assert many.to_bytes() == one.to_bytes()
    assert set(many.classes) == {int(value) if labels.dtype.kind in "fiu" else str(value) for value in labels}
    for wrap in (pandas.Series, polars.Series, pyarrow.array, list):
        again = model()
        again.learn_many(_X, wrap(y))
        assert again.to_bytes() == many.to_bytes()


# SciPy.

SPARSE = np.where(np.random.default_rng(1).random((HEIGHT, 5)) < 0.4, 1.5, 0.0) * np.arange(1, 6)


@pytest.mark.parametrize("make", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
@pytest.mark.parametrize("kind", ["array", "matrix"])
def test_every_sparse_format(make: str, kind: str) -> None:
    sparse = getattr(scipy.sparse, f"{make}_{kind}")(SPARSE)
    assert by_batch(sparse) == by_batch(scipy.sparse.csr_matrix(SPARSE))


def test_sparse_rows_out_of_order_and_with_duplicates() -> None:
    rows, columns = np.nonzero(SPARSE)
    shuffled = np.random.default_rng(2).permutation(len(rows))
    halves = np.concatenate([shuffled, shuffled])
    values = SPARSE[rows, columns][halves] / 2
    coo = scipy.sparse.coo_matrix((values, (rows[halves], columns[halves])), shape=SPARSE.shape)
    assert by_batch(coo) == by_batch(scipy.sparse.csr_matrix(SPARSE))
    csr = scipy.sparse.csr_matrix(SPARSE)
    for row in range(HEIGHT):
        part = slice(csr.indptr[row], csr.indptr[row + 1])
        csr.indices[part] = csr.indices[part][::-1]
        csr.data[part] = csr.data[part][::-1]
    csr.has_sorted_indices = False
    before = csr.indices.copy()
    assert by_batch(csr) == by_batch(scipy.sparse.csr_matrix(SPARSE))
    assert (csr.indices == before).all(), "the caller's matrix is not written to"


@pytest.mark.parametrize("dtype", ["f4", "i4", "u1", "?"])
def test_sparse_numbers_of_every_type(dtype: str) -> None:
    sparse = scipy.sparse.csr_matrix(SPARSE.astype(dtype))
    assert by_batch(sparse) == by_batch(scipy.sparse.csr_matrix(SPARSE.astype(dtype).astype(float)))


def test_sparse_with_explicit_zeros_and_empty_rows() -> None:
    sparse = scipy.sparse.csr_matrix((np.zeros(3), ([0, 1, 2], [0, 1, 2])), shape=(HEIGHT, 5))
    by_batch(sparse)
    model().learn_many(scipy.sparse.csr_matrix((0, 5)), [])


def test_sparse_poison_is_refused() -> None:
    for value in (np.inf, -np.inf, np.nan):
        sparse = scipy.sparse.csr_matrix(SPARSE)
        sparse.data[7] = value
        learned = model()
        before = learned.to_bytes()
        with pytest.raises(ValueError, match=r"row \d+: .* must be finite"):
            learned.learn_many(sparse, Y)
        assert learned.to_bytes() == before
    for index in (77, -1):
        broken = scipy.sparse.csr_matrix(SPARSE)
        broken.indices[0] = index
        with pytest.raises((ValueError, TypeError)):
            model().learn_many(broken, Y)


def test_a_sparse_matrix_of_absurd_width_is_refused() -> None:
    wide = scipy.sparse.csr_matrix(([1.0], ([0], [2**31 - 2])), shape=(1, 2**31 - 1))
    with pytest.raises(ValueError, match="hash the features into fewer"):
        model().learn_many(wide, [True])
    with pytest.raises(ValueError, match="hash the features into fewer"):
        model().predict_many(wide)


def test_sparse_and_named_features_do_not_mix() -> None:
    learned = model()
    learned.learn_one({"a": 1.0}, True)
    with pytest.raises(KeyError, match="the features of the model have names"):
        learned.learn_many(scipy.sparse.csr_matrix(SPARSE), Y)
    with pytest.raises(KeyError, match="the features of the model have names"):
        learned.learn_many(_X, Y)
    nominal = model()
    nominal.learn_one({0: "text"}, True)
    before = nominal.to_bytes()
    with pytest.raises(TypeError, match="feature 0 is nominal"):
        nominal.learn_many(scipy.sparse.csr_matrix(SPARSE), Y)
    assert nominal.to_bytes() == before


# Whatever arrives.

NAMES = st.one_of(st.sampled_from(["a", "b", "c", "", "é", 0, 1, 2, -5, 2**40]), st.text(max_size=3))
VALUES = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from([0.0, 1.0, -1.0, 1e308, -1e308, 5e-324, "x", "y", "", None, True, False, 3, 2**64]),
    st.integers(),
    st.text(max_size=4),
    st.none(),
    st.binary(max_size=2),
    st.lists(st.integers(), max_size=2),
    st.complex_numbers(max_magnitude=1),
    st.decimals(),
    st.dates(),
)
SIX_VALUES = st.lists(VALUES, min_size=6, max_size=6)
SIX_WEIGHTS = st.lists(st.floats(), min_size=6, max_size=6)
ROWS = st.lists(st.dictionaries(NAMES, VALUES, max_size=5), min_size=1, max_size=6)


@pytest.mark.slow
@pytest.mark.parametrize("role", sorted({case.role for case in cases()}))
@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(rows=ROWS, targets=SIX_VALUES, weights=SIX_WEIGHTS)
def test_any_dict_is_learned_or_refused_whole(role: str, rows: Any, targets: Any, weights: Any) -> None:
    """Rows go through all models of a role: to draw them takes five times as long as to learn them."""
    for case in cases(role):
        # The last one that is named is the one that failed.
        note(repr(case))
        check_any_dict(case, rows, targets, weights)


def check_any_dict(case: Case, rows: Any, targets: Any, weights: Any) -> None:
    learner = case.build()
    learn_one(case, learner, {"a": 1.0, "b": "x"}, 1.0)
    for row, x in enumerate(rows):
        before = learner.to_bytes()
        try:
            said = answer(case, learner, x)
            assert all(math.isfinite(number) for number in numbers_in(said))
        except MillstreamError:
            pass
        assert learner.to_bytes() == before
        try:
            if case.has_target:
                learner.learn_one(x, targets[row], weights[row])
            else:
                learner.learn_one(x, w=weights[row])
        except MillstreamError:
            assert learner.to_bytes() == before
        with contextlib.suppress(MillstreamError):
            learn_one(case, learner, x, float(row % 2) - 0.5)
    saved = learner.to_bytes()
    assert millstream.from_bytes(saved).to_bytes() == saved
    batch = case.build()
    learn_one(case, batch, {"a": 1.0, "b": "x"}, 1.0)
    loop = millstream.from_bytes(batch.to_bytes())
    refused = 0
    for row, x in enumerate(rows):
        try:
            learn_one(case, loop, x, row % 2 - 0.5)
        except MillstreamError:
            refused += 1
    y = case.targets([row % 2 - 0.5 for row in range(len(rows))])
    assert batch.learn_many([fit(case, x) for x in rows], y, on_error="skip") == refused
    assert batch.to_bytes() == loop.to_bytes()


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_matrix_is_its_rows(data: st.DataObject) -> None:
    height, width = data.draw(st.integers(0, 6)), data.draw(st.integers(0, 4))
    number = st.one_of(st.floats(), st.sampled_from([0.0, 1.0, 1e308, math.nan]))
    matrix = np.array(data.draw(st.lists(number, min_size=height * width, max_size=height * width)))
    matrix = matrix.reshape(height, width)
    y = [bool(row % 2) for row in range(height)]
    many, one = model(), model()
    refused = 0
    for x, target in zip(numbered(matrix), y, strict=True):
        try:
            one.learn_one(x, target)
        except MillstreamError:
            refused += 1
    assert many.learn_many(matrix, y, on_error="skip") == refused
    assert many.to_bytes() == one.to_bytes()
    frame = polars.DataFrame({str(place): matrix[:, place] for place in range(width)})
    named = model()
    if width:
        assert named.learn_many(frame, y, on_error="skip") == refused


@pytest.mark.parametrize(("place", "start"), [(-1, 50), (2, 0), (1, -3), (0, -1)])
def test_a_sparse_matrix_that_is_broken_is_refused_before_scipy_goes_through_it(place: int, start: int) -> None:
    learner = linear_model.LogisticRegression()
    before = learner.to_bytes()
    for work in (learner.learn_many, learner.step_many, lambda X, _: learner.predict_many(X)):
        X = scipy.sparse.csr_matrix(np.eye(4, 10) + np.eye(4, 10, 2))
        X.indptr[place] = start
        with pytest.raises(MillstreamError, match="indptr does not fit its rows and entries"):
            work(X, [0, 1, 0, 1])
    assert learner.to_bytes() == before


def test_which_objects_the_keys_of_a_dict_are_does_not_matter() -> None:
    names = ["price", "size", "age"]
    shared = ["".join(name) for name in names]  # strings that Python has not interned

    def fresh(row: int) -> list[str]:
        return ["".join(name) for name in names]

    def sometimes(row: int) -> list[str]:
        # The first row determines the order of the features.
        return list(reversed(fresh(row))) if row % 3 == 2 else shared

    numbers = np.random.default_rng(3).normal(size=(60, 3))
    trained = []
    for keys in (lambda row: names, lambda row: shared, fresh, sometimes):
        model = preprocessing.StandardScaler() | linear_model.LogisticRegression()
        for row, values in enumerate(numbers):
            if row == 30:
                model = millstream.from_bytes(model.to_bytes())
            found = dict(zip(names, values.tolist(), strict=True))
            x = {key: found[key] for key in keys(row)}
            model.predict_one(x)
            model.learn_one(x, bool(values[0] > 0))
        trained.append(model.to_bytes())
    assert len(set(trained)) == 1
