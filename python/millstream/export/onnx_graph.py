"""The graph of a prediction in the operators of ONNX.

Measured on Python 1.22 to 1.31, Node, WASM and Java, in double precision (docs/notes/export.md):

* plain operators, `LabelEncoder` and `TreeEnsemble` of ai.onnx.ml 5 are exact; the other ml operators answer in
single
  precision, and Erf, Softplus and LSTM have no kernel for doubles.
* `BRANCH_NEQ` sends NaN the wrong way and `BRANCH_MEMBER` hangs in 1.22: trees compare by `BRANCH_LEQ` only.
* Up to 1.23, a root whose children are a leaf and a node of the same number is silently taken for a leaf. Unused
leaves
  keep the two numbers apart.
* A node costs about a microsecond per call: few wide nodes, so all trees of a model are in one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from millstream.export import protobuf
from millstream.export.graph import Graph, Trees, Value

__all__ = ["OPSETS", "Nodes"]

OPSETS = {"": 21, "ai.onnx.ml": 5}
_ML = "ai.onnx.ml"
_OPS = {
    "neg": "Neg",
    "abs": "Abs",
    "exp": "Exp",
    "log": "Log",
    "sqrt": "Sqrt",
    "sin": "Sin",
    "cos": "Cos",
    "tanh": "Tanh",
    "floor": "Floor",
    "sigmoid": "Sigmoid",
    "isnan": "IsNaN",
    "isinf": "IsInf",
    "not": "Not",
    "add": "Add",
    "sub": "Sub",
    "mul": "Mul",
    "div": "Div",
    "pow": "Pow",
    "max": "Max",
    "min": "Min",
    "lt": "Less",
    "le": "LessOrEqual",
    "eq": "Equal",
    "and": "And",
    "or": "Or",
    "where": "Where",
}
_REDUCE = {"sum": "ReduceSum", "max": "ReduceMax", "min": "ReduceMin"}
_KINDS = {"double": protobuf.DOUBLE, "int": protobuf.INT64, "bool": protobuf.BOOL}


class Nodes:
    """ONNX operators for the values that outputs need, in order."""

    def __init__(self, graph: Graph, numbers: str, strings: str, batch: str) -> None:
        self.graph = graph
        self.nodes: list[bytes] = []
        self.constants: list[bytes] = []
        self._names: dict[int, str] = {}
        self._stored: dict[tuple[Any, ...], str] = {}
        self._numbers, self._strings = numbers, strings
        #: The name of the next output, if it is given.
        self._next = ""
        #: The input that has the number of rows.
        self._batch = batch
        self._row_count = ""

    def name(self, value: Value) -> str:
        """The name of a value, after adding what computes it."""
        wanted = [value]
        while wanted:
            last = wanted[-1]
            missing = [each for each in last.args if each.number not in self._names]
            if last.number in self._names or not missing:
                wanted.pop()
                if last.number not in self._names:
                    self._names[last.number] = self._write(last)
            else:
                wanted.extend(missing)
        return self._names[value.number]

    def constant(self, data: Any) -> str:
        """The name of a constant, stored once."""
        key: tuple[Any, ...] = (str(data),)
        if not isinstance(data, list):
            data = np.asarray(data)
            key = (data.dtype.str, data.shape, data.tobytes())
        if key not in self._stored:
            self._stored[key] = f"c{len(self._stored)}"
            self.constants.append(protobuf.tensor(self._stored[key], data))
        return self._stored[key]

    def node(self, op: str, *inputs: str, domain: str = "", output: str = "", **attributes: Any) -> str:
        """Add an operator with one output; returns its name."""
        output = output or self._next or f"v{len(self.nodes)}"
        self._next = ""
        self.nodes.append(protobuf.node(op, inputs, [output], domain, **attributes))
        return output

    def output(self, value: Value, name: str) -> None:
        """Compute a value under the name of an output."""
        simple = value.op in _OPS or value.op in ("softmax", "reduce", "take", "pick", "matmul", "concat")
        if value.number in self._names or not simple:
            self.node("Identity", self.name(value), output=name)
            return
        for arg in value.args:
            self.name(arg)
        self._next = name
        self.name(value)

    def _write(self, value: Value) -> str:
        if value.data is not None:
            return self.constant(value.data)
        if value.op == "numbers":
            return self._numbers
        args = [self._names[each.number] for each in value.args]
        if value.op in _OPS:
            return self.node(_OPS[value.op], *args)
        return getattr(self, f"_{value.op}")(value, *args)  # type: ignore[no-any-return]

    def _codes(self, value: Value) -> str:
        """A code for each string, -1 for others; the empty string is missing unless it was learned."""
        column = self.node("Gather", self._strings, self.constant(np.array([value.attributes["column"]])), axis=1)
        texts = value.attributes["texts"]
        numbers = np.arange(len(texts), dtype=np.float64)
        if "" not in texts:
            texts, numbers = [*texts, ""], np.append(numbers, np.nan)
        return self.node(
            "LabelEncoder",
            column,
            domain=_ML,
            keys_tensor=protobuf.tensor("keys", texts),
            values_tensor=protobuf.tensor("values", numbers),
            default_tensor=protobuf.tensor("default", np.array([-1.0])),
        )

    def _double(self, value: Value, arg: str) -> str:
        return self.node("Cast", arg, to=protobuf.DOUBLE)

    def _int(self, value: Value, arg: str) -> str:
        return self.node("Cast", arg, to=protobuf.INT64)

    def _reduce(self, value: Value, arg: str) -> str:
        axes = np.array([axis + 1 for axis in value.attributes["axes"]], dtype=np.int64)
        return self.node(
            _REDUCE[value.attributes["how"]], arg, self.constant(axes), keepdims=int(value.attributes["keep"])
        )

    def _softmax(self, value: Value, arg: str) -> str:
        return self.node("Softmax", arg, axis=-1)

    def _argmax(self, value: Value, arg: str) -> str:
        return self.node("ArgMax", arg, axis=-1, keepdims=0)

    def _matmul(self, value: Value, arg: str, matrix: str) -> str:
        return self.node("MatMul", arg, matrix)

    def _gather(self, value: Value, table: str, index: str) -> str:
        return self.node("Gather", table, index, axis=0)

    def _take(self, value: Value, arg: str, indices: str) -> str:
        return self.node("Gather", arg, indices, axis=value.args[0].ndim)

    def _pick(self, value: Value, arg: str, index: str) -> str:
        return self.node("GatherElements", arg, index, axis=-1)

    def _nearest(self, value: Value, arg: str) -> str:
        k = self.constant(np.array([value.attributes["k"]], dtype=np.int64))
        output = f"v{len(self.nodes)}"
        self.nodes.append(
            protobuf.node("TopK", [arg, k], [f"{output}_values", output], axis=-1, largest=0, sorted=1)
        )
        return output

    def _reshape(self, value: Value, arg: str) -> str:
        return self.node("Reshape", arg, self.constant(np.array([-1, *value.shape], dtype=np.int64)), allowzero=0)

    def _concat(self, value: Value, *args: str) -> str:
        return self.node("Concat", *args, axis=value.attributes["axis"] + 1)

    def _rows(self, value: Value, arg: str) -> str:
        """Expand to the number of rows of the input."""
        if not self._row_count:
            self._row_count = self.node("Shape", self._batch, start=0, end=1)
        shape = self._row_count
        if value.shape:
            shape = self.node("Concat", shape, self.constant(np.array(value.shape, dtype=np.int64)), axis=0)
        return self.node("Expand", arg, shape)

    def _leaves(self, value: Value, features: str) -> str:
        leaves = self.node("TreeEnsemble", features, domain=_ML, **tree_attributes(value.attributes["trees"]))
        return self.node("Cast", leaves, to=protobuf.INT64)


def tree_attributes(trees: Trees) -> dict[str, Any]:
    """The attributes of `TreeEnsemble`, whose targets are the trees and whose leaves weigh their number.

    At no root do a leaf and a node have the same index: unused leaves are inserted where they would.
    """
    leaf_targets: list[int] = []
    leaf_weights: list[float] = []
    true_ids, false_ids, true_leaf, false_leaf = [], [], [], []
    owner = _owners(trees)
    roots = set(trees.roots)
    for at, (left, right) in enumerate(zip(trees.left, trees.right, strict=True)):
        inner = {child for child in (left, right) if child >= 0}
        ids = []
        for child in (left, right):
            if child >= 0:
                ids.append(child)
                continue
            while at in roots and len(leaf_targets) in inner:
                leaf_targets.append(owner[at])
                leaf_weights.append(-1.0)
            ids.append(len(leaf_targets))
            leaf_targets.append(owner[at])
            leaf_weights.append(float(-1 - child))
        true_ids.append(ids[0])
        false_ids.append(ids[1])
        true_leaf.append(int(left < 0))
        false_leaf.append(int(right < 0))
    return {
        "aggregate_function": 1,
        "leaf_targetids": leaf_targets,
        "leaf_weights": protobuf.tensor("leaf_weights", np.array(leaf_weights)),
        "n_targets": len(trees.roots),
        "nodes_falseleafs": false_leaf,
        "nodes_falsenodeids": false_ids,
        "nodes_featureids": trees.feature,
        "nodes_missing_value_tracks_true": [int(left) for left in trees.missing_left],
        "nodes_modes": protobuf.tensor("nodes_modes", np.zeros(len(trees.feature), dtype=np.uint8)),
        "nodes_splits": protobuf.tensor("nodes_splits", np.array(trees.threshold, dtype=np.float64)),
        "nodes_trueleafs": true_leaf,
        "nodes_truenodeids": true_ids,
        "post_transform": 0,
        "tree_roots": trees.roots,
    }


def _owners(trees: Trees) -> list[int]:
    """The tree of each node."""
    owner = [0] * len(trees.feature)
    for tree, root in enumerate(trees.roots):
        open_nodes = [root]
        while open_nodes:
            at = open_nodes.pop()
            owner[at] = tree
            open_nodes.extend(child for child in (trees.left[at], trees.right[at]) if child >= 0)
    return owner
