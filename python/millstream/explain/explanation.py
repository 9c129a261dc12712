"""The explanation of one prediction: the contribution of each feature, as text, data frame and plot."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from millstream._echo import plain, visible
from millstream.evaluate.frames import frame, table

__all__ = ["Explanation", "bars_of", "drawn"]

#: Maximum number of features in text and pictures.
_MOST_FEATURES = 20
_POSITIVE, _NEGATIVE = "#0072B2", "#D55E00"


@dataclass(frozen=True)
class Explanation:
    """Contributions of the features to one prediction: `base` plus all contributions is `prediction`.

    Examples
    --------
    >>> from millstream import naive_bayes
    >>> model = naive_bayes.GaussianNB()
    >>> for i in range(400):
    ...     model.learn_one({"sky": "blue" if i % 3 else "grey", "wind": float(i % 5)}, i % 3 > 0)
    >>> why = model.explain_one({"sky": "blue", "wind": 1.0})
    >>> why.label, why.scale, why.method
    (True, 'log odds', 'additive')
    >>> list(why.contributions)
    ['sky', 'wind']
    """

    #: The explained class; None for a number or a score.
    label: Any
    #: The quantity: "log odds" or "log ratio" of a class, its "probability", a "number" or a "score".
    scale: str
    #: Its value without any feature, or its mean over the background.
    base: float
    #: Its value for the example.
    prediction: float
    #: The contribution of each feature, in descending order of magnitude.
    contributions: dict[Any, float]
    #: The standard error of each contribution: 0 if it is exact.
    errors: dict[Any, float] = field(default_factory=dict)
    #: The values of the example.
    values: dict[Any, Any] = field(default_factory=dict)
    #: "additive" and "exact Shapley" are exact, "sampled Shapley" is an estimate.
    method: str = "additive"

    @classmethod
    def _additive(
        cls, label: Any, scale: str, base: float, prediction: float, parts: list[float], values: dict[Any, Any]
    ) -> Explanation:
        """Exact contributions in the order of the values; they are sorted when they are read."""
        told = object.__new__(cls)
        told.__dict__.update(
            label=label, scale=scale, base=base, prediction=prediction, values=values, _parts=parts
        )
        return told

    def _sort(self) -> None:
        """Create the contributions and errors that are not created yet."""
        own = self.__dict__
        if (parts := own.get("_parts")) is not None:
            named = zip(own["values"], parts, strict=True)
            own["contributions"] = dict(sorted(named, key=lambda pair: abs(pair[1]), reverse=True))
            own["errors"] = dict.fromkeys(own["contributions"], 0.0)
            own.pop("_parts", None)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name in ("contributions", "errors"):
                self._sort()
                if name in self.__dict__:
                    return self.__dict__[name]
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

    def __getstate__(self) -> dict[str, Any]:
        self._sort()
        return dict(self.__dict__)

    @property
    def title(self) -> str:
        """The explained quantity in words."""
        return self.scale if self.label is None else f"{self.scale} of {plain(self.label, 40)}"

    def to_frame(self, kind: str | None = None) -> Any:
        """A data frame with a row per feature: its value, contribution and standard error."""
        names = list(self.contributions)
        return frame(
            {
                "feature": [str(name) for name in names],
                "value": [None if self.values.get(name) is None else str(self.values[name]) for name in names],
                "contribution": [self.contributions[name] for name in names],
                "standard_error": [self.errors.get(name, 0.0) for name in names],
            },
            kind,
        )

    def plot(self, ax: Any = None) -> Any:
        """Plot the contributions as bars with matplotlib, with their standard errors; returns the axes."""
        return drawn(self.contributions, self.errors, f"contribution to the {self.title}", ax)

    def __repr__(self) -> str:
        estimated = any(self.errors.values())
        names = list(self.contributions)[:_MOST_FEATURES]
        rows = [
            [
                plain(name, 60),
                _value(self.values.get(name)),
                _signed(self.contributions[name]),
                *([f"± {self.errors.get(name, 0.0):.3f}"] * estimated),
            ]
            for name in names
        ]
        rest = list(self.contributions)[_MOST_FEATURES:]
        if rest:
            more = _signed(sum(self.contributions[name] for name in rest))
            rows.append([f"{len(rest):,} other features", "", more, *([""] * estimated)])
        given = "mean of the background" if "background" in self.method else "nothing known"
        rows.append([given, "", _signed(self.base), *([""] * estimated)])
        rows.append([self.title, "", _signed(self.prediction), *([""] * estimated)])
        return table(["feature", "value", "contribution", *([""] * estimated)], rows)

    def _repr_html_(self) -> str:
        return bars_of(self.contributions, self.errors, f"contribution to the {self.title}", self.values)


def _signed(value: float) -> str:
    return f"{value:+.3f}" if abs(value) < 1e5 else f"{value:+.6g}"


def _value(value: Any) -> str:
    if value is None or value != value:
        return "missing"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return f"{value:.6g}"
    return plain(value, 30)


def drawn(numbers: Mapping[Any, float], errors: Mapping[Any, float], title: str, ax: Any) -> Any:
    """A bar chart with matplotlib."""
    try:
        import matplotlib.pyplot as pyplot
    except ImportError:
        raise ImportError("plot() needs matplotlib: pip install matplotlib") from None
    names = list(numbers)[:_MOST_FEATURES][::-1]
    if ax is None:
        _, ax = pyplot.subplots(figsize=(7.0, 1.2 + 0.32 * len(names)), layout="constrained")
    sizes = [numbers[name] for name in names]
    colours = [_POSITIVE if size >= 0 else _NEGATIVE for size in sizes]
    bars: dict[str, Any] = {"xerr": [errors.get(name, 0.0) for name in names]} if any(errors.values()) else {}
    ax.barh(range(len(names)), sizes, color=colours, ecolor="#808080", **bars)
    ax.set_yticks(range(len(names)), [str(name)[:32] for name in names], fontsize=8)
    ax.axvline(0, color="#808080", linewidth=0.8)
    ax.set_xlabel(title, fontsize=9)
    return ax


def bars_of(
    numbers: Mapping[Any, float], errors: Mapping[Any, float], title: str, values: Mapping[Any, Any] | None = None
) -> str:
    """An HTML table with a bar per feature, readable without style too."""
    largest = max((abs(number) for number in numbers.values()), default=0.0) or 1.0
    rows = []
    for name in list(numbers)[:_MOST_FEATURES]:
        number, error = numbers[name], errors.get(name, 0.0)
        told = f"{_signed(number)}{f' ± {error:.3f}' if error else ''}"
        colour = _POSITIVE if number >= 0 else _NEGATIVE
        bar = f"display:inline-block;height:.8em;width:{120 * abs(number) / largest:.0f}px;background:{colour}"
        given = f"<td>{html.escape(_value(values.get(name)))}</td>" if values is not None else ""
        head = f'<tr><th style="text-align:left">{html.escape(plain(name, 60))}</th>'
        rows.append(
            f"{head}{given}<td>{html.escape(told)}</td>"
            f'<td style="text-align:left"><span style="{bar}"></span></td></tr>'
        )
    return visible(f"<table><caption>{html.escape(title)}</caption><tbody>{''.join(rows)}</tbody></table>")
