"""The base class of data sets, and the location of their packages."""

from __future__ import annotations

import html
import importlib.util
import inspect
from pathlib import Path
from typing import Any

from millstream._echo import quoted
from millstream.errors import InvalidValue, MillstreamError, MissingPackage
from millstream.stream.base import Stream

__all__ = ["Dataset", "find", "folder_of"]


class Dataset(Stream):
    """A named, finite stream; the base class of all data sets.

    Nothing is read before iteration, and nothing is downloaded unless requested. Printing a data set shows its
    source, licence and citation.

    Examples
    --------
    >>> from millstream import datasets
    >>> print(datasets.Iris())
    datasets.Iris: the species of irises from the size of sepals and petals
      task        classification
      rows        150
      n_features  4
      target      species
      source      UCI machine learning repository, by scikit-learn
      licence     CC BY 4.0
      citation    Fisher, R. A. (1936). The use of multiple measurements in taxonomic problems
    """

    #: One-line summary.
    words: str
    #: "classification" or "regression".
    task: str
    #: Numbers of examples and features with default arguments.
    rows: int
    n_features: int
    #: Source, licence and citation.
    source: str
    licence: str
    citation: str

    @property
    def n_samples(self) -> int | None:
        return self.rows

    def describe(self) -> dict[str, Any]:
        """The metadata of the data set as plain values."""
        return {
            "name": f"datasets.{type(self).__name__}",
            "words": self.words,
            "task": self.task,
            "rows": self.rows,
            "n_features": self.n_features,
            "target": self.target,
            "time": self.time,
            "label_time": self.label_time,
            "source": self.source,
            "licence": self.licence,
            "citation": self.citation,
        }

    def __repr__(self) -> str:
        chosen = {
            name: getattr(self, name)
            for name, parameter in inspect.signature(type(self)).parameters.items()
            if getattr(self, name) != parameter.default
        }
        words = (
            f"{name}={(str(value) if isinstance(value, Path) else value)!r}" for name, value in chosen.items()
        )
        return f"{type(self).__name__}({', '.join(words)})"

    def __str__(self) -> str:
        told = self.describe()
        title = f"{told.pop('name')}: {told.pop('words')}"
        width = max(map(len, told))
        lines = [
            f"  {key:<{width}}  {value:,}" if isinstance(value, int) else f"  {key:<{width}}  {value}"
            for key, value in told.items()
            if value is not None
        ]
        return "\n".join([title, *lines])

    def _repr_html_(self) -> str:
        try:
            shown = super()._repr_html_()
        except MillstreamError as missing:
            # A data set that is not installed still shows its metadata, and how to get it.
            shown = f"<p>{html.escape(str(missing))}</p>"
        return f"<pre>{html.escape(str(self))}</pre>{shown}"


def find(task: str | None = None) -> list[str]:
    """The names of all data sets, or of those for a task.

    >>> from millstream import datasets
    >>> datasets.find("regression")
    ['Diabetes']
    """
    from millstream import datasets

    tasks = ("classification", "regression")
    if task is not None and task not in tasks:
        raise InvalidValue(f"datasets: task must be one of {', '.join(tasks)}, got {quoted(task)}")
    sets = {name: getattr(datasets, name) for name in datasets.__all__}
    return sorted(
        name
        for name, each in sets.items()
        if isinstance(each, type)
        and issubclass(each, Dataset)
        and each is not Dataset
        and task in (None, each.task)
    )


def folder_of(package: str, who: str) -> Path:
    """The folder of an installed package, without importing it."""
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        raise MissingPackage(f'{who}: the package {package} is not installed: pip install "millstream[datasets]"')
    return Path(found.origin).parent
