"""The default metrics of `run` and `compare`, and the default models of `compare`."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from millstream.cli.models import model_of, suitable, text_columns
from millstream.cli.show import text_of
from millstream.roles import CLASSIFIER, REGRESSOR, Role

if TYPE_CHECKING:
    from millstream.cli.observed import ObservedStream

__all__ = ["contenders", "metrics_for"]

#: Models of other kinds than linear ones, for rows of few columns.
_OTHERS = {
    CLASSIFIER: ("GaussianNB", "HoeffdingTreeClassifier", "ARFClassifier"),
    REGRESSOR: ("HoeffdingTreeRegressor", "ARFRegressor"),
}
#: For sparse rows, whose many columns would make trees slow.
_OTHERS_SPARSE: dict[Role, tuple[str, ...]] = {CLASSIFIER: ("BernoulliNB",), REGRESSOR: ()}

#: Baselines with honest probabilities: a constant 0 or 1 would have an infinite log loss.
_BASELINES = {CLASSIFIER: ("Prior", "NoChange"), REGRESSOR: ("TargetMean",)}

#: Metrics that rank models: the first one is a proper score, which is best for the true probabilities or means.
_RANKING = {CLASSIFIER: ("LogLoss", "Accuracy"), REGRESSOR: ("RMSE", "MAE", "R2")}


def contenders(stream: ObservedStream, given: Namespace) -> dict[str, Any]:
    """A linear model, naive Bayes, a tree, a forest and baselines, by the target and the rows of a stream."""
    from millstream.stream import Sparse

    chosen, _ = suitable(stream, given)
    first = stream.first()
    sparse = first is not None and isinstance(first.X, Sparse)
    others = (_OTHERS_SPARSE if sparse else _OTHERS)[chosen.role]
    baselines = {text: model_of(text) for text in _BASELINES[chosen.role]}
    texts = text_columns(stream)
    if not texts:
        return {text_of(chosen): chosen} | {text: model_of(text) for text in others} | baselines
    # These models are unsuitable for thousands of words.
    linear = type(chosen.steps[-1]).__name__
    without = {f"{text} without texts": model_of(f"Drop({texts!r}) | {text}") for text in others}
    return {f"{linear} with texts": chosen} | without | baselines


def metrics_for(role: Role, stream: ObservedStream, given: Namespace, *, ranking: bool) -> list[Any] | None:
    """The metrics of a run without --metric; None for those of the role.

    If less than 10 % of the first rows are of the rarer class, the areas under the curves come first, because a
    constant guess has a high accuracy.
    """
    names: list[Any] = list(_RANKING[role]) if ranking and role in _RANKING else []
    if role != CLASSIFIER:
        return names or None
    rare = _rare_class(stream, given)
    if rare is not None:
        from millstream import metrics

        curves = [metrics.PRAUC(pos_val=rare), metrics.ROCAUC(pos_val=rare)]
        names = ["LogLoss", *curves, "Accuracy"] if ranking else [*curves, *CLASSIFIER.metrics]
    if given.report is not None and "LogLoss" not in names:
        # A report shows the calibration, which needs a metric of probabilities.
        names = [*(names or CLASSIFIER.metrics), "LogLoss"]
    return names or None


def _rare_class(stream: ObservedStream, given: Namespace) -> Any:
    """The rarer of two classes in the first rows, if that is below 10 %; None otherwise."""
    from millstream.evaluate.constants import RARE

    if given.follow or not stream.reads_ahead:
        return None
    first = stream.first()
    if first is None or first.y is None:
        return None
    counts = _counts(first.y)
    if len(counts) != 2:
        return None
    rare = min(counts, key=counts.__getitem__)
    return rare if counts[rare] < RARE * sum(counts.values()) else None


def _counts(y: Any) -> dict[Any, int]:
    """Number of occurrences of each label, as learned by the model."""
    from collections import Counter

    from millstream import _frames

    labels: Iterable[Any] = _frames.targets(y)
    if hasattr(labels, "tolist"):
        labels = labels.tolist()
    return Counter(label for label in labels if label is not None and label == label)
