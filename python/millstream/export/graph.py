"""The graph of a model's prediction: a small language of array operations, which ONNX and C are written from.

A `Value` is an array for one row: its shape leaves out the rows of a batch. Numbers are float64, classes and codes
int64. Operations on constants are computed at once by NumPy, so that what does not depend on the row costs
nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["Graph", "Trees", "Value"]

_NUMPY: dict[str, Any] = {
    "neg": np.negative,
    "abs": np.abs,
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "floor": np.floor,
    "sigmoid": lambda x: 1.0 / (1.0 + np.exp(-x)),
    "isnan": np.isnan,
    "isinf": np.isinf,
    "not": np.logical_not,
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "pow": np.power,
    "max": np.maximum,
    "min": np.minimum,
    "lt": np.less,
    "le": np.less_equal,
    "eq": np.equal,
    "and": np.logical_and,
    "or": np.logical_or,
    "where": np.where,
    "double": lambda x: np.asarray(x).astype(np.float64),
    "int": lambda x: np.asarray(x).astype(np.int64),
}
_TRUTHS = {"isnan", "isinf", "not", "lt", "le", "eq", "and", "or"}
#: Operations that compute each element from the elements at its place.
ELEMENTWISE = frozenset(_NUMPY)


class Value:
    """An array for one row, or a constant (`data`)."""

    __slots__ = ("args", "attributes", "data", "dtype", "graph", "number", "op", "shape")

    def __init__(
        self,
        graph: Graph,
        op: str,
        args: Sequence[Value],
        shape: Sequence[int],
        dtype: str,
        data: np.ndarray[Any, Any] | None = None,
        **attributes: Any,
    ) -> None:
        self.graph, self.op, self.args, self.dtype = graph, op, tuple(args), dtype
        self.shape = tuple(int(size) for size in shape)
        self.data, self.attributes = data, attributes
        self.number = graph.add(self)

    @property
    def ndim(self) -> int:
        """The number of axes, without that of the rows."""
        return len(self.shape)

    def __add__(self, other: Any) -> Value:
        return self.graph.apply("add", self, other)

    def __radd__(self, other: Any) -> Value:
        return self.graph.apply("add", other, self)

    def __sub__(self, other: Any) -> Value:
        return self.graph.apply("sub", self, other)

    def __rsub__(self, other: Any) -> Value:
        return self.graph.apply("sub", other, self)

    def __mul__(self, other: Any) -> Value:
        return self.graph.apply("mul", self, other)

    def __rmul__(self, other: Any) -> Value:
        return self.graph.apply("mul", other, self)

    def __truediv__(self, other: Any) -> Value:
        return self.graph.apply("div", self, other)

    def __rtruediv__(self, other: Any) -> Value:
        return self.graph.apply("div", other, self)

    def __neg__(self) -> Value:
        return self.graph.apply("neg", self)

    def __lt__(self, other: Any) -> Value:
        return self.graph.apply("lt", self, other)

    def __le__(self, other: Any) -> Value:
        return self.graph.apply("le", self, other)

    def __gt__(self, other: Any) -> Value:
        return self.graph.apply("lt", other, self)

    def __ge__(self, other: Any) -> Value:
        return self.graph.apply("le", other, self)

    def __and__(self, other: Any) -> Value:
        return self.graph.apply("and", self, other)

    def __or__(self, other: Any) -> Value:
        return self.graph.apply("or", self, other)

    def __invert__(self) -> Value:
        return self.graph.apply("not", self)

    def equals(self, other: Any) -> Value:
        """Whether each element equals."""
        return self.graph.apply("eq", self, other)

    def sum(self, axis: int | tuple[int, ...] = -1) -> Value:
        """The sum over axes."""
        return self.graph.reduce("sum", self, axis)

    def max(self, axis: int | tuple[int, ...] = -1) -> Value:
        """The largest over axes."""
        return self.graph.reduce("max", self, axis)

    def min(self, axis: int | tuple[int, ...] = -1) -> Value:
        """The smallest over axes."""
        return self.graph.reduce("min", self, axis)

    def reshape(self, *shape: int) -> Value:
        """The same elements in another shape."""
        return self.graph.reshape(self, shape)


@dataclass
class Trees:
    """Trees of thresholds, their nodes in one table: a row goes left if its feature is at most the threshold.

    A child that is negative is a leaf: −1 minus its number.
    """

    roots: list[int] = field(default_factory=list)
    feature: list[int] = field(default_factory=list)
    threshold: list[float] = field(default_factory=list)
    left: list[int] = field(default_factory=list)
    right: list[int] = field(default_factory=list)
    #: Whether a missing number goes left.
    missing_left: list[bool] = field(default_factory=list)

    def add(self, feature: int, threshold: float, missing_left: bool) -> int:
        """A node without children; returns its number."""
        self.feature.append(feature)
        self.threshold.append(threshold)
        self.missing_left.append(missing_left)
        self.left.append(0)
        self.right.append(0)
        return len(self.feature) - 1


class Graph:
    """The operations of a prediction in the order in which they are computed."""

    def __init__(self) -> None:
        self.values: list[Value] = []
        self._constants: dict[tuple[Any, ...], Value] = {}

    def add(self, value: Value) -> int:
        """Append an operation; returns its number."""
        self.values.append(value)
        return len(self.values) - 1

    def constant(self, data: Any) -> Value:
        """A constant; the same array is stored once."""
        array = np.asarray(data)
        if array.dtype != np.bool_:
            array = array.astype(np.float64 if array.dtype.kind == "f" else np.int64)
        array = np.ascontiguousarray(array).reshape(array.shape)
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self._constants:
            dtype = {"b": "bool", "f": "double"}.get(array.dtype.kind, "int")
            self._constants[key] = Value(self, "constant", (), array.shape, dtype, array)
        return self._constants[key]

    def numbers(self, width: int) -> Value:
        """The input of numbers."""
        return Value(self, "numbers", (), (width,), "double")

    def codes(self, column: int, texts: Sequence[str]) -> Value:
        """The codes of a column of the input of strings: NaN for a missing value, -1 for one not in `texts`."""
        return Value(self, "codes", (), (1,), "double", column=column, texts=list(texts))

    def as_value(self, given: Any, like: Value | None = None) -> Value:
        """A constant for a number or an array."""
        if isinstance(given, Value):
            return given
        array = np.asarray(given)
        if like is not None and like.dtype == "double" and array.dtype.kind in "iu":
            array = array.astype(np.float64)
        return self.constant(array)

    def apply(self, op: str, *given: Any) -> Value:
        """An elementwise operation; shapes are broadcast as in NumPy."""
        like = next((each for each in given if isinstance(each, Value) and each.dtype != "bool"), None)
        args = [self.as_value(each, like) for each in given]
        if all(each.data is not None for each in args):
            with np.errstate(all="ignore"):
                return self.constant(_NUMPY[op](*(each.data for each in args)))
        shape = np.broadcast_shapes(*(each.shape for each in args))
        # The rows of a batch come first, so that all arrays of rows need the same number of axes.
        args = [
            each if each.data is not None or each.ndim == len(shape) else self.reshape(each, _padded(each, shape))
            for each in args
        ]
        dtype = "bool" if op in _TRUTHS else {"double": "double", "int": "int"}.get(op, args[-1].dtype)
        return Value(self, op, args, shape, dtype)

    def where(self, condition: Any, yes: Any, no: Any) -> Value:
        """`yes` where the condition holds, otherwise `no`."""
        if not isinstance(yes, Value) and not isinstance(no, Value):
            yes, no = self.constant(np.asarray(yes)), self.constant(np.asarray(no))
        return self.apply("where", condition, yes, no)

    def isnan(self, value: Any) -> Value:
        """Whether each number is missing."""
        return self.apply("isnan", value)

    def exp(self, value: Any) -> Value:
        """e to the power of each number."""
        return self.apply("exp", value)

    def log(self, value: Any) -> Value:
        """Natural logarithm."""
        return self.apply("log", value)

    def sqrt(self, value: Any) -> Value:
        """Square root."""
        return self.apply("sqrt", value)

    def maximum(self, one: Any, other: Any) -> Value:
        """The larger of two numbers."""
        return self.apply("max", one, other)

    def minimum(self, one: Any, other: Any) -> Value:
        """The smaller of two numbers."""
        return self.apply("min", one, other)

    def to_double(self, value: Value) -> Value:
        """Truths or integers as numbers."""
        return value if value.dtype == "double" else self.apply("double", value)

    def to_int(self, value: Value) -> Value:
        """Numbers or truths as integers."""
        return value if value.dtype == "int" else self.apply("int", value)

    def reduce(self, op: str, value: Value, axis: int | tuple[int, ...]) -> Value:
        """The sum, the largest or the smallest over axes, which disappear."""
        axes = sorted(each % value.ndim for each in (axis if isinstance(axis, tuple) else (axis,)))
        if value.data is not None:
            return self.constant(getattr(np, op)(value.data, axis=tuple(axes)))
        shape = [size for place, size in enumerate(value.shape) if place not in axes]
        return Value(self, "reduce", (value,), shape, value.dtype, how=op, axes=axes, keep=False)

    def argmax(self, value: Value) -> Value:
        """The index of the largest along the last axis, the first among equals."""
        if value.data is not None:
            return self.constant(np.argmax(value.data, axis=-1))
        return Value(self, "argmax", (value,), value.shape[:-1], "int")

    def matmul(self, value: Value, matrix: Any) -> Value:
        """The product of a vector (the last axis) and a constant matrix."""
        matrix = self.as_value(np.asarray(matrix, dtype=np.float64))
        if value.data is not None:
            return self.constant(value.data @ matrix.data)
        return Value(self, "matmul", (value, matrix), (*value.shape[:-1], matrix.shape[1]), "double")

    def gather(self, table: Any, index: Value) -> Value:
        """The entries of a constant table, by its first axis."""
        table = self.as_value(table)
        if index.data is not None:
            return self.constant(table.data[index.data])
        return Value(self, "gather", (table, index), (*index.shape, *table.shape[1:]), table.dtype)

    def take(self, value: Value, indices: Any) -> Value:
        """The elements at constant indices of the last axis."""
        indices = np.asarray(indices, dtype=np.int64)
        if value.data is not None:
            return self.constant(value.data[..., indices])
        if np.array_equal(indices, np.arange(value.shape[-1])):
            return value
        places = self.constant(indices)
        return Value(self, "take", (value, places), (*value.shape[:-1], *indices.shape), value.dtype)

    def pick(self, value: Value, index: Value) -> Value:
        """The elements at computed indices of the last axis; both have the same other axes."""
        return Value(self, "pick", (value, index), index.shape, value.dtype)

    def nearest(self, value: Value, k: int) -> Value:
        """The indices of the k smallest elements of the last axis in ascending order, the first among equals."""
        return Value(self, "nearest", (value,), (*value.shape[:-1], k), "int", k=k)

    def reshape(self, value: Value, shape: Sequence[int]) -> Value:
        """The same elements in another shape."""
        if tuple(shape) == value.shape:
            return value
        if value.data is not None:
            return self.constant(value.data.reshape(shape))
        if value.op == "reshape":
            return self.reshape(value.args[0], shape)
        if value.op == "reduce" and not value.attributes["keep"]:
            # The axes that disappeared may stay, with size 1: one operation instead of two.
            arg, axes = value.args[0], value.attributes["axes"]
            kept = tuple(1 if place in axes else size for place, size in enumerate(arg.shape))
            if kept == tuple(shape):
                return Value(self, "reduce", (arg,), kept, value.dtype, **{**value.attributes, "keep": True})
        return Value(self, "reshape", (value,), shape, value.dtype)

    def concat(self, values: Sequence[Any], axis: int = -1) -> Value:
        """Arrays side by side along an axis."""
        args = [self.as_value(each) for each in values]
        args = [each for each in args if each.shape[axis] > 0] or args[:1]
        if len(args) == 1:
            return args[0]
        if all(each.data is not None for each in args):
            return self.constant(np.concatenate([each.data for each in args], axis=axis))
        axis %= args[0].ndim
        shape = list(args[0].shape)
        shape[axis] = sum(each.shape[axis] for each in args)
        return Value(self, "concat", [self.rows(each) for each in args], shape, args[0].dtype, axis=axis)

    def rows(self, value: Value, shape: Sequence[int] | None = None) -> Value:
        """A value for each row of a batch, in a shape to which it is broadcast."""
        shape = value.shape if shape is None else tuple(shape)
        if value.data is None and value.shape == shape:
            return value
        if value.data is None and value.ndim < len(shape):
            value = self.reshape(value, _padded(value, shape))
        return Value(self, "rows", (value,), shape, value.dtype)

    def leaves(self, features: Value, trees: Trees) -> Value:
        """The number of the leaf of each tree."""
        return Value(self, "leaves", (features,), (len(trees.roots),), "int", trees=trees)

    def finite(self, value: Value) -> Value:
        """The nearest finite number; 0 for NaN."""
        most = float(np.finfo(np.float64).max)
        bounded = self.minimum(self.maximum(value, -most), most)
        return self.where(self.isnan(value), 0.0, bounded)

    def softmax(self, scores: Value) -> Value:
        """Scores of the last axis as probabilities."""
        if scores.data is not None:
            powers = np.exp(scores.data - scores.data.max(axis=-1, keepdims=True))
            return self.constant(powers / powers.sum(axis=-1, keepdims=True))
        return Value(self, "softmax", (scores,), scores.shape, "double")


def _padded(value: Value, shape: Sequence[int]) -> tuple[int, ...]:
    return (1,) * (len(shape) - value.ndim) + value.shape
