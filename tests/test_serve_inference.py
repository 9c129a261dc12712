"""The Open Inference Protocol: tensors in, tensors out, events stored, and feedback learned."""

from __future__ import annotations

import json

import pytest

import millstream
from millstream import anomaly, linear_model, naive_bayes
from serving import Direct

COLUMNS = [
    {"name": "a", "shape": [2], "datatype": "FP64", "data": [1.0, 2.0]},
    {"name": "b", "shape": [2, 1], "datatype": "BYTES", "data": [["x"], ["y"]]},
]


@pytest.fixture
def direct(tmp_path):
    models = {"r": linear_model.LinearRegression(), "c": naive_bayes.GaussianNB()}
    with Direct(tmp_path, models=models) as direct:
        yield direct


def infer(direct, model="r", path="infer", **body):
    return direct.post(f"/v2/models/{model}/{path}", body)


def output(answer, name="predict"):
    return next(tensor for tensor in answer.json["outputs"] if tensor["name"] == name)


def event(direct, id, model="r"):
    found = direct.get(f"/v1/models/{model}/events/{id}").json
    return found["x"], found["label"]


def settle(direct):
    """Wait until everything that was proposed is applied."""
    direct.put("/v1/models/r/policy", {})


def test_server_and_health(direct):
    answer = direct.get("/v2").json
    assert answer == {
        "name": "millstream",
        "version": millstream.__version__,
        "extensions": ["millstream_feedback"],
    }
    assert direct.get("/v2/health/live").json == {"live": True}
    assert direct.get("/v2/health/ready").json["ready"] is True
    assert direct.get("/v2/models/r/ready").json == {"name": "r", "ready": True}
    direct.server.is_ready = False
    assert direct.get("/v2/health/ready").status == 503
    assert direct.get("/v2/models/r/ready").json["ready"] is False
    direct.server.is_ready = True


def test_errors_have_the_member_that_the_protocol_demands(direct):
    for answer in (
        direct.get("/v2/models/none"),
        direct.get("/v2/models/none/ready"),
        direct.get("/v2/nothing"),
        infer(direct, inputs=[]),
        direct.post("/v2/models/r/infer", b"{"),
        direct.post("/v2/models/r/feedback", {"id": "none", "y": 1.0}),
    ):
        assert answer.status in (400, 404, 422)
        assert answer.json["error"] == answer.json["detail"] != ""


def test_metadata(direct):
    found = direct.get("/v2/models/r").json
    assert (found["name"], found["platform"]) == ("r", "millstream")
    assert found["outputs"] == [{"name": "predict", "datatype": "FP64", "shape": [-1]}]
    assert "versions" not in found
    direct.post("/v1/models/r/versions", {"version": "one"})
    assert direct.get("/v2/models/r").json["versions"] == ["one"]
    assert direct.get("/v2/models/r/versions/one").status == 200
    assert direct.get("/v2/models/r/versions/one/ready").json["ready"] is True
    missing = direct.get("/v2/models/r/versions/two")
    assert (missing.status, missing.json["type"]) == (404, "/problems/unknown-version")
    assert infer(direct, path="versions/one/infer", inputs=COLUMNS).json["model_version"] == "one"
    assert infer(direct, path="versions/two/infer", inputs=COLUMNS).status == 404


def test_columns_become_examples_and_events(direct):
    answer = infer(direct, id="request", inputs=COLUMNS)
    assert answer.status == 200
    assert (answer.json["model_name"], answer.json["id"]) == ("r", "request")
    assert output(answer) == {"name": "predict", "shape": [2], "datatype": "FP64", "data": [0.0, 0.0]}
    settle(direct)
    assert event(direct, "request-0") == ({"a": 1.0, "b": "x"}, "waiting")
    assert event(direct, "request-1") == ({"a": 2.0, "b": "y"}, "waiting")


@pytest.mark.parametrize("names", ["p, q ,r", ["p", "q", "r"]])
@pytest.mark.parametrize("data", [[1, 2, 3, 4, 5, 6], [[1, 2, 3], [4, 5, 6]]], ids=["flat", "nested"])
def test_a_matrix_has_its_names_in_parameters(direct, names, data):
    matrix = {"name": "x", "shape": [2, 3], "datatype": "INT64", "parameters": {"names": names}, "data": data}
    assert infer(direct, id="m", inputs=[matrix, COLUMNS[0]]).status == 200
    settle(direct)
    assert event(direct, "m-1")[0] == {"p": 4, "q": 5, "r": 6, "a": 2.0}


def test_one_example_keeps_the_id(direct):
    inputs = [{"name": "a", "shape": [1], "datatype": "FP32", "data": [1.5]}]
    assert infer(direct, id="single", inputs=inputs).json["id"] == "single"
    settle(direct)
    assert event(direct, "single") == ({"a": 1.5}, "waiting")


def test_ids_are_made_and_can_be_asked_for(direct):
    answer = infer(direct, inputs=COLUMNS, outputs=[{"name": "id"}, {"name": "predict"}])
    made = answer.json["id"]
    assert [tensor["name"] for tensor in answer.json["outputs"]] == ["id", "predict"]
    assert output(answer, "id")["data"] == [f"{made}-0", f"{made}-1"]
    assert (
        direct.post("/v2/models/r/feedback", {"id": made, "y": [1.0, 2.0]}).json["results"][1]["fate"] == "learned"
    )


def test_null_is_a_missing_value(direct):
    inputs = [{"name": "a", "shape": [2], "datatype": "FP64", "data": [None, 1.0]}]
    assert infer(direct, id="n", inputs=inputs).status == 200
    settle(direct)
    assert event(direct, "n-0")[0] == {"a": None}


def test_the_same_request_again_has_no_effect(direct):
    first = infer(direct, id="again", inputs=COLUMNS)
    settle(direct)
    direct.post("/v2/models/r/feedback", {"id": "again", "y": [3.0, 4.0]})
    second = infer(direct, id="again", inputs=COLUMNS)
    assert output(second) == output(first)
    assert direct.server.engine.state.by_name["r"].predictions == 2
    other = [{**COLUMNS[0], "data": [9.0, 9.0]}, COLUMNS[1]]
    answer = infer(direct, id="again", inputs=other)
    assert (answer.status, answer.json["type"]) == (409, "/problems/id-in-use")


def test_classifier(direct):
    for value, y in ((1.0, "low"), (1.1, "low"), (5.0, "high"), (5.2, "high")):
        direct.post("/v1/models/c/learn", {"x": {"a": value}, "y": y})
    inputs = [{"name": "a", "shape": [2], "datatype": "FP64", "data": [1.05, 5.1]}]
    answer = infer(direct, "c", inputs=inputs)
    assert output(answer) == {"name": "predict", "shape": [2], "datatype": "BYTES", "data": ["low", "high"]}


def test_probabilities(tmp_path):
    model = naive_bayes.GaussianNB()
    for value, y in ((1.0, True), (1.1, True), (5.0, False), (5.2, False)):
        model.learn_one({"a": value}, y)
    with Direct(tmp_path, models={"c": model}, metrics=["LogLoss"]) as direct:
        inputs = [{"name": "a", "shape": [2], "datatype": "FP64", "data": [1.05, 5.1]}]
        answer = infer(direct, "c", inputs=inputs)
        proba = output(answer, "proba")
        labels = json.loads(proba["parameters"]["labels"])
        assert sorted(labels) == [False, True]
        rows = [proba["data"][:2], proba["data"][2:]]
        assert proba["shape"] == [2, 2]
        assert [sum(row) for row in rows] == [pytest.approx(1), pytest.approx(1)]
        assert labels[max((0, 1), key=rows[0].__getitem__)] is True
        assert direct.get("/v2/models/c").json["outputs"][1]["name"] == "proba"


def test_before_the_first_label_a_class_is_null(direct):
    inputs = [{"name": "a", "shape": [1], "datatype": "FP64", "data": [1.0]}]
    assert output(infer(direct, "c", inputs=inputs))["data"] == [None]


def test_scores_of_an_anomaly_detector(tmp_path):
    with Direct(tmp_path, models={"d": anomaly.HalfSpaceTrees()}) as direct:
        answer = infer(
            direct, "d", inputs=[{"name": "a", "shape": [3], "datatype": "FP64", "data": [0.1, 0.2, 0.9]}]
        )
        assert output(answer)["datatype"] == "FP64"
        assert len(output(answer)["data"]) == 3


def test_routes(direct):
    direct.post("/v1/models", {"name": "r2", "spec": "StandardScaler | LinearRegression"})
    direct.put("/v1/routes/main", {"champion": "r", "challengers": ["r2"]})
    inputs = [{"name": "a", "shape": [2], "datatype": "FP64", "data": [1.0, 2.0]}]
    assert infer(direct, "main", id="q", inputs=inputs, parameters={"key": "user"}).json["model_name"] == "main"
    results = direct.post("/v2/models/main/feedback", {"ids": ["q-0", "q-1"], "y": [1.0, 2.0]}).json["results"]
    assert [result["fate"] for result in results] == ["learned", "learned"]
    assert {direct.server.engine.state.models[name].learned for name in ("r", "r2")} == {2}


def test_feedback(direct):
    infer(direct, id="f", inputs=[{"name": "a", "shape": [1], "datatype": "FP64", "data": [1.0]}])
    first = direct.post("/v2/models/r/feedback", {"id": "f", "y": 2.0, "weight": 2.0})
    assert (first.status, first.json["fate"], first.json["id"]) == (201, "learned", "f")
    assert direct.post("/v2/models/r/feedback", {"id": "f", "y": 2.0, "weight": 2.0}).status == 200
    assert direct.post("/v2/models/r/feedback", {"id": "f", "y": 3.0}).status == 409
    assert direct.post("/v2/models/r/feedback", {"id": "none", "y": 3.0}).status == 404
    assert direct.server.engine.state.models["r"].learned == 1


@pytest.mark.parametrize(
    ("body", "match"),
    [
        ({"y": 1.0}, "either id or ids"),
        ({"id": "a", "ids": ["a"], "y": [1.0]}, "either id or ids"),
        ({"ids": ["a", "b"], "y": [1.0]}, "one label for each id"),
        ({"ids": "ab", "y": [1.0, 2.0]}, "one label for each id"),
        ({"ids": [], "y": []}, "one label for each id"),
        ({"id": "a"}, "it is missing"),
        ({"id": "a", "y": {"b": 1}}, "must be a bool"),
        ({"ids": [3], "y": [1.0]}, "must be a string"),
        ({"id": "a", "y": 1.0, "z": 1}, "unknown member"),
    ],
)
def test_bad_feedback(direct, body, match):
    answer = direct.post("/v2/models/r/feedback", body)
    assert answer.status == 422
    assert match in answer.json["error"]


def tensor(**changes):
    return {"name": "a", "shape": [2], "datatype": "FP64", "data": [1.0, 2.0]} | changes


@pytest.mark.parametrize(
    ("inputs", "match"),
    [
        ([], "non-empty list"),
        ({}, "list of tensors"),
        ([3], "must be an object"),
        ([tensor(name="")], "name"),
        ([tensor(datatype="FP8")], "datatype"),
        ([tensor(datatype=["FP64"])], "datatype"),
        ([tensor(shape=[3])], "needs 3 elements, got 2"),
        ([tensor(shape=[])], "shape"),
        ([tensor(shape=[1, 1, 2])], "shape"),
        ([tensor(shape=[True, 2])], "shape"),
        ([tensor(shape=[-1])], "shape"),
        ([tensor(shape=[10**30])], "at most 100000"),
        ([tensor(shape=[1, 2])], "needs their names"),
        ([tensor(shape=[1, 2], parameters={"names": "p"})], "2 different strings"),
        ([tensor(shape=[1, 2], parameters={"names": "p,p"})], "2 different strings"),
        ([tensor(shape=[1, 2], parameters={"names": 3})], "2 different strings"),
        ([tensor(parameters=[])], "parameters"),
        ([tensor(data="ab")], "data"),
        ([tensor(data=[True, 1.0])], "data[0]: is not of FP64"),
        ([tensor(data=[[1.0], 2.0])], "data[0]: is not of FP64"),
        ([tensor(datatype="INT64")], "data[0]: is not of INT64"),
        ([tensor(datatype="BOOL", data=[0, 1])], "data[0]: is not of BOOL"),
        ([tensor(datatype="BYTES")], "data[0]: is not of BYTES"),
        ([tensor(), tensor()], "is in two tensors"),
        ([tensor(), tensor(name="b", shape=[1], data=[1.0])], "must have 2 rows, got 1"),
        ([tensor(extra=1)], "unknown member"),
    ],
)
def test_bad_tensors_store_nothing(direct, inputs, match):
    seq = direct.server.engine.store.last_seq
    answer = infer(direct, inputs=inputs)
    assert answer.status in (413, 422), answer.body
    assert match in answer.json["error"]
    assert direct.server.engine.committer.waiting == 0
    assert direct.server.engine.store.last_seq == seq


@pytest.mark.parametrize(
    ("body", "match"),
    [
        ({"id": "x" * 127}, "1 to 128"),
        ({"id": 3}, "must be a string"),
        ({"outputs": [{"name": "other"}]}, "predict, proba, id"),
        ({"outputs": 3}, "must be a list"),
        ({"parameters": 3}, "must be an object"),
    ],
)
def test_bad_requests(direct, body, match):
    answer = infer(direct, inputs=COLUMNS, **body)
    assert answer.status == 422
    assert match in answer.json["error"]


def test_a_bad_example_refuses_the_whole_request(direct):
    direct.post("/v1/models/r/learn", {"x": {"a": 1.0}, "y": 1.0})
    seq = direct.server.engine.store.last_seq
    inputs = [{"name": "a", "shape": [2], "datatype": "FP64", "data": [1.0, 10**400]}]
    answer = infer(direct, inputs=inputs)
    assert answer.status in (400, 422)
    assert direct.server.engine.store.last_seq == seq
