"""River's function for prequential evaluation."""

from __future__ import annotations

import time
from typing import Any

from millstream.evaluate.prequential import prequential
from millstream.metrics.positive import positive_class, with_positive

__all__ = ["progressive_val_score"]


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


def _shown(metric: Any, title: str, value: float) -> str:
    """The representation of the metric with an earlier value."""
    now = repr(metric)
    return f"{title}: {value:.2%}" if now.endswith("%") else f"{title}: {value:,.6f}"
