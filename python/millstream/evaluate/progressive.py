"""River's function for prequential evaluation."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from millstream._echo import quoted
from millstream.errors import InvalidValue
from millstream.evaluate.prequential import prequential
from millstream.metrics.multioutput import MultiOutputMetric
from millstream.metrics.positive import positive_class, with_positive

__all__ = ["iter_progressive_val_score", "progressive_val_score"]


def progressive_val_score(
    dataset: Any,
    model: Any,
    metric: Any,
    moment: Any = None,
    delay: Any = None,
    print_every: int = 0,
    show_time: bool = False,
    show_memory: bool = False,
    **print_kwargs: Any,
) -> Any:
    """Evaluate a model on a stream, with the signature of River's function of the same name.

    Use it to port scripts; new code should call `prequential`. The model learns in place, and the metric is
    returned.

    Parameters
    ----------
    dataset
        Examples `(x, y)`, or any stream that `prequential` accepts.
    model
        A classifier or a regressor.
    metric
        One metric, which is updated in place.
    moment
        Times of examples: a key or a function of x. By default examples only have an order.
    delay
        Delay of labels: a number of rows, or with `moment` a timedelta, a number, a key, or a function of (x, y).
    print_every
        Number of rows between printed lines; 0 prints nothing.
    show_time
        Whether to print the elapsed time as well.
    show_memory
        Whether to print the memory of the model as well.
    print_kwargs
        Passed on to `print`.

    Examples
    --------
    >>> from millstream import evaluate, linear_model, metrics
    >>> rows = [({"x": float(i % 7) - 3.5}, i % 7 > 3) for i in range(300)]
    >>> model, metric = linear_model.LogisticRegression(), metrics.Accuracy()
    >>> evaluate.progressive_val_score(rows, model, metric, print_every=100)
    [100] Accuracy: 100.00%
    [200] Accuracy: 100.00%
    [300] Accuracy: 100.00%
    Accuracy: 100.00%
    """
    if isinstance(metric, MultiOutputMetric):
        return _several_outputs(dataset, model, metric, moment, delay, print_every)
    if not print_every:
        return prequential(model, dataset, metric, delay=delay, time=moment, progress=False).metric
    begun = time.perf_counter()
    result = prequential(model, dataset, metric, delay=delay, time=moment, every=print_every, progress=False)
    name = next(iter(result.values))
    title = with_positive(name, positive_class(result.metric))
    for place, row in enumerate(result.curve["row"].tolist()):
        line = f"[{row:,d}] {_shown(result.metric, title, result.curve[name][place])}"
        if show_time:
            seconds = int(min(result.curve["seconds"][place], time.perf_counter() - begun))
            line += f" – {seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
        if show_memory:
            line += f" – {result.curve['memory'][place] / 2**10:,.2f} KiB"
        print(line, **print_kwargs)  # noqa: T201
    return result.metric


def _several_outputs(dataset: Any, model: Any, metric: Any, moment: Any, delay: Any, print_every: int) -> Any:
    """The loop of a model whose truths and predictions are dicts, such as one of River's."""
    if moment is not None or delay is not None or print_every:
        raise InvalidValue(
            "evaluate.progressive_val_score: moment, delay and print_every are not available for metrics of "
            "several outputs"
        )
    for x, y in dataset:
        predicted = model.predict_one(x)
        if predicted:
            metric.update(y, predicted)
        model.learn_one(x, y)
    return metric


def _shown(metric: Any, title: str, value: float) -> str:
    """The representation of the metric with an earlier value."""
    now = repr(metric)
    return f"{title}: {value:.2%}" if now.endswith("%") else f"{title}: {value:,.6f}"


def iter_progressive_val_score(
    dataset: Any,
    model: Any,
    metric: Any,
    moment: Any = None,
    delay: Any = None,
    step: int = 1,
    yield_predictions: bool = False,
) -> Iterator[dict[str, Any]]:
    """Evaluate a model step by step, with the signature of River's function of the same name.

    Use it to port scripts, or to look at model and metric between steps; `prequential` is native and returns the
    whole curve. After every `step` rows with a label, and at the end, it yields a dict with the metric, under its
    name, and the number of rows, under "Step".

    Parameters
    ----------
    dataset
        Examples `(x, y)` with dicts x.
    model
        A classifier or a regressor, which learns in place.
    metric
        One metric, or several as `a + b`, updated in place.
    moment
        Times of examples: a key or a function of x.
    delay
        Delay of labels: a number of rows, or with `moment` a timedelta, a key, or a function of (x, y).
    step
        Number of rows between results.
    yield_predictions
        Whether to add the last prediction, under "Prediction".

    Examples
    --------
    >>> from millstream import evaluate, linear_model, metrics
    >>> rows = [({"x": float(i % 7) - 3.5}, i % 7 > 3) for i in range(250)]
    >>> steps = evaluate.iter_progressive_val_score(
    ...     rows, linear_model.LogisticRegression(), metrics.Accuracy(), step=100
    ... )
    >>> for each in steps:
    ...     print(each)
    {'Accuracy': Accuracy: 100.00%, 'Step': 100}
    {'Accuracy': Accuracy: 100.00%, 'Step': 200}
    {'Accuracy': Accuracy: 100.00%, 'Step': 250}
    """
    from millstream import stream

    if isinstance(step, bool) or not isinstance(step, int) or step < 1:
        raise InvalidValue(
            f"evaluate.iter_progressive_val_score: step must be an integer >= 1, got {quoted(step)}"
        )
    metrics = metric if isinstance(metric, list) else [metric]
    probable = hasattr(model, "predict_proba_one") and all(
        not getattr(each, "requires_labels", True) for each in metrics
    )
    predict = model.predict_proba_one if probable else model.predict_one
    waiting: dict[Any, tuple[Any, Any]] = {}
    count, last = 0, None

    def found() -> dict[str, Any]:
        shown = {type(each).__name__: each for each in metrics} | {"Step": count}
        return shown | ({"Prediction": last} if yield_predictions else {})

    for i, x, *rest in stream.simulate_qa(dataset, moment, delay):
        y = rest[0] if rest else None
        if y is None:
            # The second time, no label has arrived: the row is not learned.
            if waiting.pop(i, None) is None:
                waiting[i] = (x, predict(x))
            continue
        x, last = waiting.pop(i)
        if last is not None and last != {}:
            for each in metrics:
                each.update(y, last)
        model.learn_one(x, y)
        count += 1
        if count % step == 0:
            yield found()
    if count % step:
        yield found()
