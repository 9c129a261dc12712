"""The contribution of each feature to one prediction, for any model.

First the model is tested for additivity: it predicts with one feature removed, and with one feature alone. Linear
models and naive Bayes, also behind transformers of single features, are additive in the input features. The
differences are then exact contributions: w x for a linear model, the log likelihood ratio for naive Bayes.

For other models, the contributions are Shapley values (Shapley, 1953): the mean change of the prediction when a
feature becomes known, over all orders of the features. With up to 6 features, all subsets are evaluated, so the
values are exact. With more, orders are sampled (Štrumbelj and Kononenko, 2014), each with its reverse, which
reduces the variance; the standard error is that of the mean over the pairs. An unknown feature is absent from
the row; every learner documents how it handles absent features. With a background, an unknown feature has the
value of a random row of the background.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import compress
from typing import Any, NamedTuple

import numpy as np

from millstream import _core
from millstream._echo import quoted
from millstream._feature_names import column_name, names_of
from millstream.errors import InvalidType, InvalidValue, MillstreamError, UnknownName
from millstream.explain import linear
from millstream.explain.explanation import Explanation
from millstream.explain.linear import TOLERANCE, layout_of, layouts, logistic
from millstream.roles import ANOMALY_DETECTOR, CLASSIFIER, REGRESSOR, role_of

__all__ = ["explain_one"]

#: Maximum number of features with exact Shapley values.
_EXACT = 6
#: Maximum number of subsets times features for which sampled orders are kept.
_KEPT_CELLS = 500_000
#: Probabilities closer to 0 or 1 have no reliable logarithm.
_LEAST = 1e-15

Ask = Callable[[Mapping[Any, Any]], float]


def explain_one(
    model: Any,
    x: Mapping[Any, Any],
    label: Any = None,
    *,
    background: Sequence[Mapping[Any, Any]] | None = None,
    n_permutations: int = 64,
    seed: int = 0,
) -> Explanation:
    """Compute the contribution of each input feature to one prediction.

    Parameters
    ----------
    model
        A classifier, regressor or anomaly detector, native or written in Python.
    x
        The example.
    label
        The class to explain; by default the predicted one.
    background
        Rows whose values replace unknown features, such as those of a `sampling.Reservoir`. Without a background,
        unknown features are absent.
    n_permutations
        Number of sampled orders of the features, if the contributions are not exact.
    seed
        Seed of the orders.

    Returns
    -------
    Explanation
        Base, contributions and standard errors, with `to_frame()`, `plot()` and text.

    Examples
    --------
    >>> from millstream import explain, neighbors
    >>> model = neighbors.KNNRegressor()
    >>> for i in range(300):
    ...     model.learn_one({"a": float(i % 7), "b": float(i % 3)}, float(i % 7 > 3))
    >>> why = explain.explain_one(model, {"a": 6.0, "b": 1.0}, background=[{"a": 1.0, "b": 2.0}])
    >>> why.contributions, why.method
    ({'a': 1.0, 'b': 0.0}, 'exact Shapley over the background')

    References
    ----------
    Shapley, L. S. (1953). A value for n-person games.
    Štrumbelj, E. and Kononenko, I. (2014). Explaining prediction models and individual predictions with feature
    contributions. Knowledge and Information Systems 41.
    """
    layout = layouts.get(model) or layout_of(model)
    if (layout is None or layout.may_hash) and (split := _hashed(model)) is not None:
        before, learner = split
        hashed = _through(before, x)
        rows = None if background is None else [_through(before, row) for row in background]
        options: dict[str, Any] = {"background": rows, "n_permutations": n_permutations, "seed": seed}
        return explain_one(learner, hashed, label, **options)
    if type(x) is not dict and not isinstance(x, Mapping):
        raise InvalidType(f"explain_one: x must be a dict of features, got {type(x).__name__}")
    if isinstance(n_permutations, bool) or not isinstance(n_permutations, int) or n_permutations < 2:
        raise InvalidValue(f"explain_one: n_permutations must be an integer >= 2, got {quoted(n_permutations)}")
    rows = None if background is None else list(background)
    if rows is not None and not rows:
        raise InvalidValue("explain_one: background must have rows, got none")
    x = dict(x)
    names = names_of(model)
    if names is None and rows is None and layout is not None and layout.additive is not None:
        known = linear.explained(model, layout.additive, x, label)
        if known is not None:
            return known
    if names is not None:
        # A model of hashed rows knows its columns by number.
        x = {_column(name): value for name, value in x.items()}
        return _by_name(_explained_one(model, x, label, rows, n_permutations, seed), names)
    return _explained_one(model, x, label, rows, n_permutations, seed)


def _explained_one(
    model: Any,
    x: dict[Any, Any],
    label: Any,
    rows: list[Mapping[Any, Any]] | None,
    n_permutations: int,
    seed: int,
) -> Explanation:
    ask, logarithmic, label, scale = _question(model, x, label)
    if rows is None:
        if logarithmic is not None and (found := _additive(logarithmic, x)) is not None:
            base, whole, parts = found
            return _explained(label, _log_scale(model), base, whole, parts, {}, x, "additive")
        if logarithmic is None and (found := _additive(ask, x)) is not None:
            base, whole, parts = found
            return _explained(label, scale, base, whole, parts, {}, x, "additive")
        base, whole, parts, errors, method = _shapley(ask, x, None, n_permutations, seed)
    else:
        base, whole, parts, errors, method = _shapley(ask, x, rows, n_permutations, seed)
        method += " over the background"
    return _explained(label, scale, base, whole, parts, errors, x, method)


def _hashed(model: Any) -> tuple[list[Any], Any] | None:
    """The steps of a pipeline before its learner, and the learner, if that learns hashed columns with names."""
    from millstream.compose import Pipeline

    if not isinstance(model, Pipeline):
        return None
    *before, learner = model.steps
    return (before, learner) if before and names_of(before[-1]) is not None else None


def _column(name: Any) -> Any:
    """The number of a hashed column; another name as it is."""
    return int(name) if isinstance(name, str) and name.isascii() and name.isdigit() else name


def _through(steps: Sequence[Any], x: Any) -> Any:
    """The row as the step after these receives it."""
    for step in steps:
        x = step.transform_one(x) if hasattr(step, "transform_one") else x
    return x


def _by_name(told: Explanation, names: Any) -> Explanation:
    """The explanation with the names of hashed columns."""

    def by_name(numbers: Mapping[Any, Any]) -> dict[Any, Any]:
        return {column_name(names, column): value for column, value in numbers.items()}

    return replace(
        told,
        contributions=by_name(told.contributions),
        errors=by_name(told.errors),
        values=by_name(told.values),
    )


def _explained(
    label: Any,
    scale: str,
    base: float,
    whole: float,
    parts: Mapping[Any, float],
    errors: Mapping[Any, float],
    x: dict[Any, Any],
    method: str,
) -> Explanation:
    order = sorted(parts, key=lambda name: -abs(parts[name]))
    ordered = {name: parts[name] for name in order}
    return Explanation(
        label, scale, base, whole, ordered, {name: errors.get(name, 0.0) for name in order}, x, method
    )


def _itself(known: Mapping[Any, Any]) -> Mapping[Any, Any]:
    return known


def _question(model: Any, x: dict[Any, Any], label: Any) -> tuple[Ask, Ask | None, Any, str]:
    """The explained number as a function of an example, also as a logarithm for classes; the class, and words."""
    role = role_of(model)
    # A class written in Python may change or keep its example.
    compiled = isinstance(model, _core.Model) and type(model).__module__.startswith("millstream.")
    row: Callable[[Mapping[Any, Any]], Mapping[Any, Any]] = _itself if compiled else dict
    if role is REGRESSOR:
        return lambda known: float(model.predict_one(row(known)) or 0.0), None, None, "number"
    if role is ANOMALY_DETECTOR:
        return lambda known: float(model.score_one(row(known))), None, None, "score"
    if role is not CLASSIFIER:
        words = "model must be a classifier, a regressor or an anomaly detector"
        raise InvalidType(f"explain_one: {words}, got {type(model).__name__}")
    probabilities = model.predict_proba_one(x)
    if label is None:
        label = model.predict_one(x)
    elif not any(known == label and isinstance(known, bool) == isinstance(label, bool) for known in probabilities):
        known = ", ".join(map(repr, probabilities)) or "none yet"
        raise UnknownName(f"explain_one: label must be one of the classes {known}, got {quoted(label)}")

    def probability(known: Mapping[Any, Any]) -> float:
        return float(model.predict_proba_one(row(known)).get(label, 0.0))

    if (margin := _margin(model, x, probabilities.get(label, 0.0))) is not None:
        return probability, margin, label, "probability"

    def logarithm(known: Mapping[Any, Any]) -> float:
        told = model.predict_proba_one(row(known))
        own = told.get(label, 0.0)
        if len(told) <= 2:
            rest = sum(value for name, value in told.items() if name != label)
            return math.nan if min(own, rest) < _LEAST else math.log(own) - math.log(rest)
        if min(told.values()) < _LEAST:
            return math.nan
        return math.log(own) - sum(map(math.log, told.values())) / len(told)

    return probability, logarithm, label, "probability"


def _margin(model: Any, x: dict[Any, Any], probability: float) -> Ask | None:
    """The score of a model as the log odds of the explained class, if it is that, as of a logistic regression.

    Unlike the logarithm of a probability, it is exact where the probability is close to 0 or 1.
    """
    if not hasattr(model, "score_one"):
        return None
    try:
        # Without features, the score and the probability of the same class must agree too.
        score, nothing = float(model.score_one(x)), float(model.score_one({}))
        about_nothing = model.predict_proba_one({})
    except MillstreamError:
        return None
    if not math.isfinite(score) or abs(score) < TOLERANCE or len(about_nothing) != 2:
        return None
    for sign in (1.0, -1.0):
        agrees = abs(logistic(sign * score) - probability) <= _LEAST + 1e-9 * probability
        if agrees and any(abs(logistic(sign * nothing) - each) <= 1e-9 for each in about_nothing.values()):
            return lambda known: sign * float(model.score_one(dict(known)))
    return None


def _log_scale(model: Any) -> str:
    """The logarithm in words: that of the class over the others, or over the geometric mean of all."""
    return "log odds" if len(getattr(model, "classes", ()) or ()) <= 2 else "log ratio"


def _additive(ask: Ask, x: dict[Any, Any]) -> tuple[float, float, dict[Any, float]] | None:
    """Base, prediction and contributions, if each feature adds the same first and last; otherwise None."""
    base, whole = ask({}), ask(x)
    if not math.isfinite(base) or not math.isfinite(whole):
        return None
    allowed = TOLERANCE * (1.0 + abs(base) + abs(whole))
    parts = {}
    for name, value in x.items():
        first = ask({name: value}) - base
        last = whole - ask({other: given for other, given in x.items() if other != name})
        if not abs(first - last) <= allowed:
            return None
        parts[name] = last
    if not abs(base + sum(parts.values()) - whole) <= allowed * (1 + len(parts)):
        return None
    return base, whole, parts


def _shapley(
    ask: Ask, x: dict[Any, Any], background: Sequence[Mapping[Any, Any]] | None, n_permutations: int, seed: int
) -> tuple[float, float, dict[Any, float], dict[Any, float], str]:
    names = list(x)
    rows: Sequence[Mapping[Any, Any]] = [{}] if background is None else background
    whole = ask(x)
    base = float(np.mean([ask(_without(row, names)) for row in rows]))
    if len(names) <= _EXACT:
        parts = _all_subsets(ask, x, rows)
        return base, whole, parts, {}, "exact Shapley"
    pairs = max(2, n_permutations // 2)
    if background is None and type(seed) is int and 2 * pairs * len(names) ** 2 <= _KEPT_CELLS:
        gains = _gains_of_subsets(ask, x, pairs, seed)
    else:
        gains = _gains_over_rows(ask, x, rows, pairs, seed)
    means = gains.mean(axis=0)
    errors = gains.std(axis=0, ddof=1) / math.sqrt(pairs)
    if background is not None:
        # The drawn rows have another mean than the background; the difference is shared equally.
        means = means + (whole - base - means.sum()) / len(names)
    return (
        base,
        whole,
        dict(zip(names, means.tolist(), strict=True)),
        dict(zip(names, errors.tolist(), strict=True)),
        "sampled Shapley",
    )


class _Orders(NamedTuple):
    """Sampled orders of features: their distinct subsets, and the subsets before and after each step."""

    #: A byte per feature, 1 if the subset has it.
    subsets: list[bytes]
    #: Indices by pair, order and feature: of the subset to which the feature is added, and of that with it.
    before: Any
    after: Any


@lru_cache(maxsize=8)
def _orders(count: int, pairs: int, seed: int) -> _Orders:
    """The orders depend on no model, so they are drawn once."""
    random = np.random.default_rng(seed)
    numbers = {0: 0}
    before, after = np.zeros((2, pairs, 2, count), dtype=np.int64)
    for pair in range(pairs):
        order = random.permutation(count).tolist()
        for turn, each in enumerate((order, order[::-1])):
            known = last = 0
            for place in each:
                known |= 1 << place
                number = numbers.setdefault(known, len(numbers))
                before[pair, turn, place], after[pair, turn, place] = last, number
                last = number
    return _Orders([bytes(known >> place & 1 for place in range(count)) for known in numbers], before, after)


def _gains_of_subsets(ask: Ask, x: dict[Any, Any], pairs: int, seed: int) -> Any:
    """The gain of each feature by pair of orders; a subset that occurs in several orders is predicted once."""
    orders, given = _orders(len(x), pairs, seed), list(x.items())
    values = np.array([ask(dict(compress(given, subset))) for subset in orders.subsets])
    gains = (values[orders.after] - values[orders.before]) / 2.0
    return gains[:, 0] + gains[:, 1]


def _gains_over_rows(ask: Ask, x: dict[Any, Any], rows: Sequence[Mapping[Any, Any]], pairs: int, seed: int) -> Any:
    """The gain of each feature by pair of orders, with a random row of the background for each pair."""
    random, names = np.random.default_rng(seed), list(x)
    gains = np.zeros((pairs, len(names)))
    for pair in range(pairs):
        order = random.permutation(len(names))
        row = rows[int(random.integers(len(rows)))]
        for each in (order, order[::-1]):
            known = dict(_without(row, names))
            before = ask(known)
            for place in each.tolist():
                known[names[place]] = x[names[place]]
                after = ask(known)
                gains[pair, place] += (after - before) / 2.0
                before = after
    return gains


def _without(row: Mapping[Any, Any], names: Sequence[Any]) -> dict[Any, Any]:
    """The values of a background row for the features of the example."""
    return {name: row[name] for name in names if name in row}


def _all_subsets(ask: Ask, x: dict[Any, Any], rows: Sequence[Mapping[Any, Any]]) -> dict[Any, float]:
    """Shapley values by their definition: a weighted mean over all subsets of the other features."""
    names = list(x)
    count = len(names)
    values = np.zeros(1 << count)
    for subset in range(1 << count):
        chosen = {name: x[name] for place, name in enumerate(names) if subset >> place & 1}
        values[subset] = np.mean([ask({**_without(row, names), **chosen}) for row in rows])
    parts = {}
    for place, name in enumerate(names):
        total = 0.0
        for subset in range(1 << count):
            if subset >> place & 1:
                continue
            size = subset.bit_count()
            weight = math.factorial(size) * math.factorial(count - size - 1) / math.factorial(count)
            total += weight * (values[subset | 1 << place] - values[subset])
        parts[name] = float(total)
    return parts
