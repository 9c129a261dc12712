"""Traces: the context of a prediction is stored, and the span of its label links to it."""

from __future__ import annotations

import builtins

import pytest

from millstream import linear_model
from millstream.errors import MissingPackage
from millstream.serve import Server
from serving import Direct

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
TRACE = "00-11111111111111111111111111111111-2222222222222222-01"


@pytest.fixture
def traced(tmp_path):
    trace = pytest.importorskip("opentelemetry.sdk.trace")
    export = pytest.importorskip("opentelemetry.sdk.trace.export")
    memory = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")
    exporter = memory.InMemorySpanExporter()
    provider = trace.TracerProvider()
    provider.add_span_processor(export.SimpleSpanProcessor(exporter))
    with Direct(tmp_path, models={"m": linear_model.LinearRegression()}, tracing=provider) as direct:
        yield direct, exporter
    provider.shutdown()


def one_span(exporter, name):
    (found,) = [span for span in exporter.get_finished_spans() if span.name == name]
    return found


def test_the_span_of_a_label_links_to_that_of_its_prediction(traced):
    direct, exporter = traced
    body = {"id": "e", "x": {"a": 1.0}}
    direct.post("/v1/models/m/predict?wait=durable", body, traceparent=PARENT)
    direct.put("/v1/models/m/labels/e", {"y": 1.0})
    predicted = one_span(exporter, "POST /v1/models/{model}/predict")
    labelled = one_span(exporter, "PUT /v1/models/{model}/labels/{id}")
    assert f"{predicted.parent.trace_id:032x}-{predicted.parent.span_id:016x}" == PARENT[3:-3]
    assert [(link.context.trace_id, link.context.span_id) for link in labelled.links] == [
        (predicted.context.trace_id, predicted.context.span_id)
    ]
    assert labelled.context.trace_id != predicted.context.trace_id
    assert predicted.attributes["millstream.model"] == "m"
    assert labelled.attributes["http.response.status_code"] == 201
    assert direct.get("/v1/models/m/events/e").json["trace"] == (
        f"00-{predicted.context.trace_id:032x}-{predicted.context.span_id:016x}-01"
    )


def test_batches_and_inference_are_linked(traced):
    direct, exporter = traced
    rows = [{"id": "one", "x": {"a": 1.0}}, {"id": "two", "x": {"a": 2.0}, "trace": TRACE}]
    direct.post("/v1/models/m/predict:batch?wait=durable", rows)
    direct.post("/v1/models/m/labels", [{"id": "one", "y": 1.0}, {"id": "two", "y": 2.0}, {"id": "no", "y": 1}])
    predicted = one_span(exporter, "POST /v1/models/{model}/predict:batch")
    links = one_span(exporter, "POST /v1/models/{model}/labels").links
    assert [link.context.span_id for link in links] == [predicted.context.span_id, int("2" * 16, 16)]
    inputs = [{"name": "a", "shape": [2], "datatype": "FP64", "data": [1.0, 2.0]}]
    direct.post("/v2/models/m/infer", {"id": "v2", "inputs": inputs})
    direct.put("/v1/models/m/policy", {})
    direct.post("/v2/models/m/feedback", {"id": "v2", "y": [1.0, 2.0]})
    inferred = one_span(exporter, "POST /v2/models/{model}/infer")
    links = one_span(exporter, "POST /v2/models/{model}/feedback").links
    assert [link.context.span_id for link in links] == [inferred.context.span_id]


@pytest.mark.parametrize("trace", ["nonsense", "00-" + "0" * 32 + "-" + "0" * 16 + "-01", "é" * 50])
def test_a_text_that_is_no_context_is_passed_over(traced, trace):
    direct, exporter = traced
    direct.post("/v1/models/m/predict?wait=durable", {"id": "e", "x": {"a": 1.0}, "trace": trace})
    assert direct.put("/v1/models/m/labels/e", {"y": 1.0}).status == 201
    assert one_span(exporter, "PUT /v1/models/{model}/labels/{id}").links == ()


def test_refused_requests_end_their_spans(traced):
    direct, exporter = traced
    direct.post("/v1/models/m/predict", b"{")
    direct.put("/v1/models/m/labels/none", {"y": 1.0})
    direct.get("/v1/models/m")
    statuses = [span.attributes["http.response.status_code"] for span in exporter.get_finished_spans()]
    assert statuses == [400, 404]


def test_the_context_is_stored_without_spans(tmp_path):
    with Direct(tmp_path, models={"m": linear_model.LinearRegression()}) as direct:
        direct.post("/v1/models/m/predict?wait=durable", {"id": "a", "x": {}}, traceparent=PARENT)
        direct.post("/v1/models/m/predict?wait=durable", {"id": "b", "x": {}, "trace": TRACE}, traceparent=PARENT)
        direct.post("/v1/models/m/predict?wait=durable", {"id": "c", "x": {}})
        traces = [direct.get(f"/v1/models/m/events/{id}").json.get("trace") for id in "abc"]
    assert traces == [PARENT, TRACE, None]


def test_a_missing_package_is_named_before_the_folder_is_opened(tmp_path, monkeypatch):
    imported = builtins.__import__

    def without(name, *more):
        if name.startswith("opentelemetry"):
            raise ImportError(name)
        return imported(name, *more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingPackage, match=r"millstream\[otel\]"):
        Server(linear_model.LinearRegression(), data=tmp_path / "data", tracing=True)
    assert not (tmp_path / "data").exists()
