"""Files of exported models: what is in them, what is refused, and what an unlearned model predicts."""

import json
import math

import numpy as np
import pytest

import millstream
from export_streams import edges, labels, mixed, numeric
from millstream import (
    anomaly,
    art,
    base,
    baseline,
    basis,
    cli,
    cluster,
    compose,
    continual,
    decomposition,
    ensemble,
    errors,
    export,
    forest,
    linear_model,
    llm,
    metrics,
    naive_bayes,
    neighbors,
    neural_network,
    preprocessing,
    tree,
)
from millstream.export.c_text import literal, number
from millstream.export.graph import Graph, Trees
from millstream.export.onnx_graph import tree_attributes
from millstream.export.state import pack, unpack


def small_forest(kind=numeric, classes=3, n=1500):
    model = forest.ARFClassifier(n_models=5, grace_period=30, delta=0.1)
    rows, score = kind(n)
    for x, y in zip(rows, labels(score, classes), strict=True):
        model.learn_one(x, y)
    return model


def written(model, tmp_path):
    onnx = pytest.importorskip("onnx")
    export.onnx(model, tmp_path / "model.onnx")
    return onnx.load(tmp_path / "model.onnx")


def attribute(node, name):
    import onnx

    (found,) = (each for each in node.attribute if each.name == name)
    return onnx.helper.get_attribute_value(found)


@pytest.mark.slow
def test_the_file_is_valid_and_says_what_it_is(tmp_path):
    onnx = pytest.importorskip("onnx")
    model = small_forest(mixed)
    file = written(model, tmp_path)
    onnx.checker.check_model(file, full_check=True)
    assert {each.domain: each.version for each in file.opset_import} == {"": 21, "ai.onnx.ml": 5}
    found = {each.key: each.value for each in file.metadata_props}
    assert json.loads(found["description"])["name"] == "forest.ARFClassifier"
    assert found["learned"] == "1500"
    assert json.loads(found["strings"]) == ["colour", "size"]
    assert sorted(json.loads(found["numbers"])) == ["x0", "x1", "x2", "x3"]
    assert json.loads(found["labels"]) == list(model.classes)


#: Operators that are exact in double precision in every runtime (docs/notes/export.md).
FORBIDDEN = {"Erf", "Softplus", "LSTM", "GRU", "OneHot", "Gelu", "LeakyRelu", "Elu", "Selu"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        lambda: small_forest(mixed),
        lambda: small_forest(numeric),
        lambda: learned(preprocessing.StandardScaler() | linear_model.LogisticRegression(), 2),
        lambda: learned(naive_bayes.GaussianNB(), 3),
        lambda: learned(neighbors.KNNClassifier(window_size=20), 3),
    ],
)
def test_the_bytes_keep_the_rules(make, tmp_path):
    import onnx

    file = written(make(), tmp_path)
    for node in file.graph.node:
        assert node.op_type not in FORBIDDEN
        if node.domain == "ai.onnx.ml":
            assert node.op_type in {"LabelEncoder", "TreeEnsemble"}
        if node.op_type == "TreeEnsemble":
            assert set(onnx.numpy_helper.to_array(attribute(node, "nodes_modes")).tolist()) == {0}
            no_root_has_a_leaf_and_a_node_of_one_number(node)
    tensors = list(file.graph.initializer)
    tensors += [each.t for node in file.graph.node for each in node.attribute if each.HasField("t")]
    assert {each.data_type for each in tensors} <= {2, 7, 8, 9, 11}
    types = [each.type.tensor_type.elem_type for each in [*file.graph.input, *file.graph.output]]
    assert set(types) <= {7, 8, 11}


def learned(model, classes, kind=mixed, n=300):
    rows, score = kind(n)
    for x, y in zip(rows, labels(score, classes), strict=True):
        model.learn_one(x, y)
    return model


def no_root_has_a_leaf_and_a_node_of_one_number(node):
    names = ("nodes_truenodeids", "nodes_falsenodeids", "nodes_trueleafs", "nodes_falseleafs")
    true_ids, false_ids, true_leaf, false_leaf = (attribute(node, name) for name in names)
    for root in attribute(node, "tree_roots"):
        assert not (true_ids[root] == false_ids[root] and true_leaf[root] != false_leaf[root])


def test_a_planted_coincidence_at_a_root_is_resolved():
    """The left child of the second root is leaf 2, and its right child is node 2."""
    trees = Trees()
    for at in range(4):
        trees.add(0, float(at), False)
    trees.roots = [0, 1]
    trees.left, trees.right = [-1, -3, -4, -6], [-2, 2, 3, -5]
    found = tree_attributes(trees)
    assert found["nodes_falsenodeids"][1] == 2
    assert found["nodes_truenodeids"][1] == 3
    assert found["nodes_trueleafs"][1] == 1
    # The leaf that was inserted belongs to the tree, and nothing leads to it.
    assert found["leaf_targetids"] == [0, 0, 1, 1, 1, 1, 1]


def test_a_planted_coincidence_predicts_the_right_leaves(tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    from millstream.export import protobuf
    from millstream.export.onnx_graph import OPSETS, Nodes

    trees = Trees()
    for at in range(4):
        trees.add(0, float(at), False)
    trees.roots = [0, 1]
    trees.left, trees.right = [-1, -3, -4, -6], [-2, 2, 3, -5]
    graph = Graph()
    leaves = graph.leaves(graph.numbers(1), trees)
    nodes = Nodes(graph, "numbers", "strings", "numbers")
    nodes.node("Identity", nodes.name(leaves), output="leaves")
    inputs = [protobuf.tensor_type("numbers", protobuf.DOUBLE, ["rows", 1])]
    outputs = [protobuf.tensor_type("leaves", protobuf.INT64, ["rows", 2])]
    body = protobuf.graph("planted", nodes.nodes, nodes.constants, inputs, outputs)
    path = tmp_path / "planted.onnx"
    path.write_bytes(protobuf.model(body, "test", "1", "", OPSETS, {}))
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    found = session.run(None, {"numbers": np.array([[0.0], [1.0], [2.0], [3.0], [4.0]])})[0]
    assert found.tolist() == [[0, 2], [1, 2], [1, 3], [1, 5], [1, 4]]


@pytest.mark.slow
def test_one_node_has_all_trees_and_the_graph_is_short(tmp_path):
    file = written(small_forest(), tmp_path)
    assert [node.op_type for node in file.graph.node].count("TreeEnsemble") == 1
    assert len(file.graph.node) <= 45


def test_supported_answers_for_the_whole_registry():
    found = export.supported()
    assert list(found) == [*millstream.find(), "llm.Head", "llm.JudgeThreshold", "llm.Router"]
    assert all(answer == "yes" or len(answer) > 10 for answer in found.values())
    for role in ("classifier", "regressor", "transformer"):
        assert sum(found[name] == "yes" for name in millstream.find(role=role)) >= 20
    assert [name for name, answer in found.items() if "no exporter" in answer] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        lambda: preprocessing.StandardScaler() | linear_model.LogisticRegression(),
        lambda: linear_model.SoftmaxRegression(),
        lambda: linear_model.AROW(),
        lambda: naive_bayes.GaussianNB(),
        lambda: naive_bayes.MultinomialNB(),
        lambda: tree.HoeffdingTreeClassifier(),
        lambda: tree.HoeffdingTreeRegressor(),
        lambda: forest.ARFClassifier(n_models=3),
        lambda: forest.ARFRegressor(n_models=3),
        lambda: ensemble.Voting([naive_bayes.GaussianNB(), linear_model.AROW()]),
        lambda: ensemble.Stacking([naive_bayes.GaussianNB()], meta_model=linear_model.SoftmaxRegression()),
        lambda: neighbors.KNNClassifier(),
        lambda: neighbors.KNNRegressor(),
        lambda: cluster.KMeans(n_clusters=2),
        lambda: anomaly.HalfSpaceTrees(),
        lambda: linear_model.RLS(),
        lambda: preprocessing.StandardScaler(),
        lambda: baseline.MajorityClass(),
        lambda: anomaly.GaussianScorer(),
        lambda: art.FuzzyART(),
        lambda: art.FuzzyARTMAP(),
        lambda: basis.Fourier(2, (0, 9)),
        lambda: continual.EWC(),
        lambda: continual.GDumb(naive_bayes.GaussianNB()),
        lambda: continual.NearestClassMean(),
        lambda: continual.Replay(linear_model.PARegressor()),
        lambda: continual.StreamingLDA(),
        lambda: neighbors.SAMKNNClassifier(),
        lambda: neural_network.IRMARegressor((0, 1)),
        lambda: neural_network.MLPClassifier(),
        lambda: neural_network.OSELM(),
        lambda: preprocessing.QuantileTransformer(),
    ],
)
def test_an_unlearned_model_predicts_as_millstream_does(make, tmp_path):
    pytest.importorskip("onnxruntime")
    model = make()
    for name in ("model.onnx", "model.c"):
        getattr(export, name.partition(".")[2])(model, tmp_path / name)
        rows = [{"x": 1.0}] if isinstance(model, basis.Fourier) else [{"x": 1.0}, {}]
        found = export.check(model, tmp_path / name, rows)
        assert found.agrees, found


@pytest.mark.slow
@pytest.mark.parametrize("classes", [1, 2])
def test_models_of_one_class_or_one_row_agree(classes, tmp_path):
    pytest.importorskip("onnxruntime")
    for make in (
        linear_model.LogisticRegression,
        linear_model.AROW,
        naive_bayes.GaussianNB,
        tree.HoeffdingTreeClassifier,
        continual.EWC,
        continual.NearestClassMean,
        continual.StreamingLDA,
        neighbors.SAMKNNClassifier,
        neural_network.MLPClassifier,
    ):
        for truth, other in ((True, False), (1, 7), (0, 5), ("a", "b")):
            model = make()
            model.learn_one({"x": 1.0, "c": "u"}, truth)
            if classes == 2:
                model.learn_one({"x": 2.0, "c": "v"}, other)
            export.onnx(model, tmp_path / "model.onnx")
            assert export.check(model, tmp_path / "model.onnx", [{"x": 1.5, "c": "w"}, {}]).agrees
            export.c(model, tmp_path / "model.c")
            assert export.check(model, tmp_path / "model.c", [{"x": 1.5, "c": "w"}, {}]).agrees


class Doubled(base.Transformer):
    def transform_one(self, x):
        return {name: 2 * value for name, value in x.items()}


class Guess(base.Classifier):
    def learn_one(self, x, y, w=1.0):
        pass

    def predict_one(self, x):
        return None


def test_a_python_step_is_refused_by_name(tmp_path):
    model = Doubled() | linear_model.LogisticRegression()
    with pytest.raises(export.Unsupported, match=r"Doubled: cannot be exported: it runs in Python"):
        export.onnx(model, tmp_path / "model.onnx")
    with pytest.raises(export.Unsupported, match="Doubled"):
        export.c(multi(Doubled()), tmp_path / "model.c")
    with pytest.raises(export.Unsupported, match="Guess: cannot be exported: it runs in Python"):
        export.onnx(continual.Replay(Guess()), tmp_path / "model.onnx")
    assert list(tmp_path.iterdir()) == []


def multi(step):
    return compose.Pipeline([step, preprocessing.StandardScaler(), linear_model.RLS()])


def test_what_cannot_be_exported_is_refused_with_the_reason(tmp_path):
    model = preprocessing.MinMaxScaler() | decomposition.NMF()
    with pytest.raises(
        export.Unsupported, match=r"decomposition.NMF: cannot be exported: its output is the solution"
    ):
        export.onnx(model, tmp_path / "model.onnx")
    with pytest.raises(errors.InvalidValue, match="output codes"):
        export.onnx(ensemble.LeveragingBagging(output_codes=True), tmp_path / "model.onnx")
    for given, words in (
        (3, "must be a model of millstream, got 3"),
        (naive_bayes.GaussianNB, "must be an instance, got the class GaussianNB"),
    ):
        with pytest.raises(errors.InvalidType, match=words):
            export.onnx(given, tmp_path / "model.onnx")
    for given, words in (
        (metrics.Accuracy(), "metrics.Accuracy: cannot be exported: it scores predictions"),
        (
            compose.Keyed(naive_bayes.GaussianNB(), key="k"),
            "Keyed: cannot be exported: it has a model for each key",
        ),
        (llm.Head(), "llm.Head: cannot be exported: it runs in Python: export the learner in it, head.model"),
    ):
        with pytest.raises(export.Unsupported, match=words):
            export.onnx(given, tmp_path / "model.onnx")
    with pytest.raises(errors.InvalidValue, match="name must be a C identifier"):
        export.c(baseline.TargetMean(), tmp_path / "model.c", name="1st")
    with pytest.raises(errors.InvalidValue, match=r"path must end with .onnx or .c"):
        export.check(baseline.TargetMean(), tmp_path / "model.txt", [])
    with pytest.raises(errors.InvalidType, match="rows must be a matrix, a frame"):
        export.check(baseline.TargetMean(), tmp_path / "model.onnx", 3)
    for name in ("model.onnx", "model.c"):
        with pytest.raises(FileNotFoundError, match="there is no file"):
            export.check(baseline.TargetMean(), tmp_path / name, [])
    assert list(tmp_path.iterdir()) == []


def test_a_model_that_cannot_predict_yet_is_refused_with_its_own_reason(tmp_path):
    model = continual.StreamingLDA(shrinkage=0.0)
    model.learn_one({"x": 1.0, "y": 2.0}, "a")
    with pytest.raises(errors.InvalidValue, match="shrinkage=0 it must learn at least 3 rows"):
        export.onnx(model, tmp_path / "model.onnx")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_strange_names_labels_and_values_survive(tmp_path):
    pytest.importorskip("onnxruntime")
    model = naive_bayes.GaussianNB()
    names = ["*/ int main", 'quo"te', "tab\t", "größe", "??/"]
    for place in range(60):
        x = {name: float(place % 7 + at) for at, name in enumerate(names)}
        model.learn_one({**x, 'c"\\': ["a\nb", 'x"y', "??=", ""][place % 4]}, ['"', "*/", "ß"][place % 3])
    rows = [{**dict.fromkeys(names, 2.0), 'c"\\': text} for text in ("a\nb", 'x"y', "??=", "", "other")]
    for name in ("model.onnx", "model.c"):
        getattr(export, name.partition(".")[2])(model, tmp_path / name)
        assert export.check(model, tmp_path / name, rows).agrees


@pytest.mark.slow
def test_the_command_writes_both_files(tmp_path, capsys):
    learned(preprocessing.StandardScaler() | linear_model.LogisticRegression(), 2).save(tmp_path / "late.ms")
    assert cli.main(["export", str(tmp_path / "late.ms")]) == 0
    assert "late.onnx: classifier of 4 numbers and 2 strings" in capsys.readouterr().out
    assert cli.main(["export", str(tmp_path / "late.ms"), "--to", "c", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["classes"] == [False, True]
    assert "int32_t model_predict(" in (tmp_path / "late.c").read_text()
    assert cli.main(["export", str(tmp_path / "late.ms"), "--to", "pmml"]) == 2
    assert "--to must be onnx or c, got pmml" in capsys.readouterr().err


def test_two_models_fit_in_one_program(tmp_path):
    first, second = baseline.TargetMean(), learned(tree.HoeffdingTreeClassifier(), 2)
    export.c(first, tmp_path / "a.c", name="first")
    export.c(second, tmp_path / "b.c", name="second")
    assert "second" not in (tmp_path / "a.c").read_text()
    assert "model_" not in (tmp_path / "b.c").read_text()


@pytest.mark.slow
def test_frames_are_compared_too(tmp_path):
    pytest.importorskip("onnxruntime")
    polars = pytest.importorskip("polars")
    pandas = pytest.importorskip("pandas")
    model = learned(naive_bayes.GaussianNB(), 3)
    export.onnx(model, tmp_path / "model.onnx")
    rows, _ = mixed(50, 4)
    whole = [{name: row.get(name) for name in ("x0", "x1", "x2", "x3", "colour", "size")} for row in rows]
    for frame in (polars.DataFrame(whole), polars.DataFrame(whole).to_arrow(), pandas.DataFrame(whole), whole):
        found = export.check(model, tmp_path / "model.onnx", frame)
        assert (found.rows, found.agrees) == (50, True)


def test_a_difference_is_reported(tmp_path):
    pytest.importorskip("onnxruntime")
    model = learned(naive_bayes.GaussianNB(), 3)
    export.onnx(model, tmp_path / "model.onnx")
    rows = edges("mixed", 100, [])
    changed = model.copy()
    changed.learn_one(mixed(1)[0][0], "class 0")
    found = export.check(changed, tmp_path / "model.onnx", rows)
    assert not found.agrees
    assert "differ" in str(found)


def test_a_file_of_another_model_is_refused(tmp_path):
    """A C file would read beyond the row, and write beyond the classes."""
    pytest.importorskip("onnxruntime")
    model = learned(naive_bayes.GaussianNB(), 3)
    export.onnx(model, tmp_path / "model.onnx")
    export.c(model, tmp_path / "model.c")
    wider = model.copy()
    wider.learn_one({"another": 1.0}, "class 3")
    for name in ("model.onnx", "model.c"):
        for other in (wider, baseline.TargetMean()):
            with pytest.raises(errors.InvalidValue, match="has other features or classes than the model"):
                export.check(other, tmp_path / name, [{}])
    (tmp_path / "empty.onnx").write_bytes(b"")
    with pytest.raises(errors.InvalidValue, match="onnxruntime refused"):
        export.check(model, tmp_path / "empty.onnx", [{}])


def test_messagepack_is_read_and_written():
    value = {"a": [1, -2, 3.5, "x", None, True], "b": b"\x00", "c": {"d": []}, "e": 2**63 + 1, "f": -(2**40)}
    assert unpack(pack(value)) == value
    doubles = unpack(pack([0.5] * 40))
    assert doubles.dtype == np.float64
    assert doubles.tolist() == [0.5] * 40
    with pytest.raises(errors.InvalidState, match="unknown type"):
        unpack(b"\xc1")


def test_c_literals():
    assert number(0.1) == (0.1).hex()
    assert (number(3.0), number(-0.0), number(math.inf), number(math.nan)) == (
        "3.0",
        "-0x0.0p+0",
        "INFINITY",
        "NAN",
    )
    assert literal('a"\n?ß') == '"a\\042\\012\\077\\303\\237"'
