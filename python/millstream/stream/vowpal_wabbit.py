"""Vowpal Wabbit's text format."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from millstream import _core
from millstream._echo import quoted
from millstream.errors import InvalidValue
from millstream.stream.counts import count
from millstream.stream.feature_names import FeatureNames, names_limit
from millstream.stream.line_features import LineFeatures, check_named
from millstream.stream.sparse_text import SparseText

__all__ = ["VowpalWabbit", "hash_feature", "read_vw"]


class VowpalWabbit(SparseText):
    """A file in Vowpal Wabbit's text format; created by `read_vw`."""

    maker = "stream.read_vw"

    lines_apart = True

    def __init__(
        self,
        path: Any,
        *,
        bits: int = 18,
        constant: bool = True,
        interactions: Iterable[str] = (),
        ngram: int | Mapping[str, int] | None = None,
        skips: int | Mapping[str, int] | None = None,
        ignore: Iterable[str] = (),
        keep: Iterable[str] | None = None,
        ignore_linear: Iterable[str] = (),
        max_products: int = 2**20,
        names: bool | int = False,
        labels: str = "auto",
        on_error: str = "raise",
        follow: bool = False,
        idle: float | None = None,
    ) -> None:
        if not isinstance(constant, (bool, np.bool_)):
            raise InvalidValue(f"stream.read_vw: constant must be True or False, got {quoted(constant)}")
        self.bits, self.constant = count("read_vw: bits", bits, 1, 28), bool(constant)
        features = LineFeatures.checked(
            self.bits,
            self.constant,
            interactions=interactions,
            ngram=ngram,
            skips=skips,
            ignore=ignore,
            keep=keep,
            ignore_linear=ignore_linear,
            max_products=max_products,
        )
        self.interactions, self.ngram, self.skips = features.interactions, ngram, skips
        self.ignore, self.ignore_linear = tuple(features.ignore), tuple(features.ignore_linear)
        self.keep = None if features.keep is None else tuple(features.keep)
        self.max_products, self._features, self.names = features.max_products, features, names
        limit = names_limit("stream.read_vw", names)
        #: The names of the columns so far, with `names`.
        self.feature_names = None if limit is None else FeatureNames(limit)
        super().__init__(path, labels, on_error, follow, idle)

    def reader(self, inside: bool = False) -> _core.TextReader:
        is_plain = self._features.is_plain and self.feature_names is None
        features = None if is_plain else self._shared
        return _core.TextReader.vowpal_wabbit(self.bits, self.constant, self.on_error == "skip", inside, features)

    @cached_property
    def _shared(self) -> _core.LineFeatures:
        return self._features.shared(None if self.feature_names is None else self.feature_names._core)

    def check_namespaces(self, seen: Mapping[int, str]) -> None:
        check_named(self.source, self.interactions, seen)


def read_vw(
    path: Any,
    *,
    bits: int = 18,
    constant: bool = True,
    interactions: Iterable[str] = (),
    ngram: int | Mapping[str, int] | None = None,
    skips: int | Mapping[str, int] | None = None,
    ignore: Iterable[str] = (),
    keep: Iterable[str] | None = None,
    ignore_linear: Iterable[str] = (),
    max_products: int = 2**20,
    names: bool | int = False,
    labels: str = "auto",
    by_class: bool = False,
    on_error: str = "raise",
    follow: bool = False,
    idle: float | None = None,
) -> Any:
    """Read a file in Vowpal Wabbit's text format.

    A line is `label importance 'tag|namespace:scale feature:value …`, with any number of namespaces; everything
    except the bar and the features is optional. Features are hashed exactly as in VW. If two features of a line
    share a column, their values are added.

    A word that touches the bar is a tag, so `1|words` has the tag "1" and no label: put a space before the bar.
    `read_vw(path).tagged()` yields each chunk with the tags of its rows; see `stream.SparseText`. An example
    without a label has the label NaN: models predict it but refuse to learn it. `evaluate.prequential` stops
    there, or skips it with `on_error="skip"`.

    Parameters
    ----------
    path
        A file, which may be compressed with gzip or zstd; `"-"` for standard input; or an open file.
    bits
        Base-2 logarithm of the number of columns, as VW's `-b`. Linear models and `naive_bayes.GaussianNB` process
        only the columns of a row; trees and forests process all, so use 10 to 12 bits for these. Use the same
        number for a saved model as for its training: another number moves features to other columns.
    constant
        Whether each row has VW's constant feature. Linear models have an intercept with its own learning rate: set
        `intercept=False` with the constant to match VW.
    interactions
        Products of namespaces, as VW's `-q`, `--cubic` and `--interactions`: `["ab"]` multiplies each feature of
        the namespaces that begin with a by each of those that begin with b. A product may have more than two
        factors; `":"` is any namespace, a space the one without a name. Of two products of the same namespaces
        one is formed, and a namespace multiplied by itself has each pair of its features once. Columns are those
        of VW. A chunk stores features only: a model receives one row with its products at a time.
    ngram
        Largest number of consecutive features that are joined to one more feature; a dict gives it by namespace.
    skips
        Largest number of features that an n-gram may leave out; a dict gives it by namespace.
    ignore, keep
        First characters of namespaces to leave out, or of the only ones to keep.
    ignore_linear
        First characters of namespaces whose features count in products only.
    max_products
        Largest number of products and n-grams of a line; a line with more is unreadable.
    names
        True to collect the names of columns in `feature_names`, up to 64 MiB, or the maximum number of bytes.
        Models that learn the stream then name their weights by features and not by columns. Reading takes several
        times as long.
    labels
        `"auto"`: integers become ints, which are classes to a classifier and numbers to a regressor; `"class"`:
        a fraction is an error; `"number"`: always floats; `"actions"`: rounds of `--cb_adf` with the action taken,
        its cost and probability, as `rounds.Rounds` with the negative cost as reward. These keep names
        ("namespace^feature") and ignore `bits` and `constant`. `"costs"`: costs of classes as of `--csoaa`
        (`1:0.5 2:1 | words`), for `cost_sensitive.CostRegression`; a class without a cost has an unknown one.
    by_class
        With `labels="costs"`: whether each class has a line with features of its own, and a first line "shared"
        those of all (`--csoaa_ldf`, `--wap_ldf`). An example ends with an empty line. Names are kept, as with
        "actions".
    on_error
        `"raise"`: an unreadable line ends the stream with an error that names its line and column, after the rows
        before it; `"skip"`: it is skipped and counted in `skipped`.
    follow
        Whether to wait at the end of the file for more lines, like `tail -f`.
    idle
        With `follow`, number of seconds without a new line after which the stream ends; None for never.

    Examples
    --------
    >>> import io
    >>> from millstream import evaluate, linear_model, optim, stream
    >>> text = "1 |words win money now\\n-1 |words lunch at noon\\n" * 50
    >>> mails = stream.read_vw(io.StringIO(text), bits=22)
    >>> model = linear_model.LogisticRegression(optimizer=optim.AdaGrad(), intercept=False)
    >>> result = evaluate.prequential(model, mails)
    >>> result.model.predict_many(next(mails.chunks()).X)[:2].tolist()
    [1, -1]

    Products of a user's and an item's features:

    >>> ann, bob = "1 |user ann |item red\\n-1 |user ann |item blue\\n", "-1 |user bob |item red\\n"
    >>> text = ann + bob + "1 |user bob |item blue\\n"
    >>> tastes = stream.read_vw(io.StringIO(text * 50), interactions=["ui"])
    >>> result = evaluate.prequential(linear_model.LogisticRegression("adaptive", intercept=False), tastes)
    >>> result.model.predict_many(next(tastes.chunks()).X)[:4].tolist()
    [1, -1, -1, 1]

    Tags identify lines:

    >>> lines = stream.read_vw(io.StringIO("1 'first |words win\\n'second |words lunch\\n"))
    >>> [(chunk.y.tolist(), tags) for chunk, tags in lines.tagged()]
    [([1.0, nan], ['first', 'second'])]

    Costs of classes:

    >>> from millstream import cost_sensitive
    >>> text = "1:0 2:1 | a\\n1:1 2:0.5 | b\\n" * 50
    >>> model = cost_sensitive.CostRegression(linear_model.LinearRegression("adaptive", intercept=False))
    >>> for rows in stream.read_vw(io.StringIO(text), labels="costs").chunks():
    ...     chosen = model.step_many(rows.X, rows.costs, classes=rows.classes)
    >>> chosen[-2:].tolist()
    [1, 2]
    """
    if labels == "actions":
        from millstream.stream.round_files import RoundFile

        if by_class:
            raise InvalidValue("stream.read_vw: by_class must be False with labels='actions'")
        unused = {"interactions": interactions, "ngram": ngram, "skips": skips, "ignore": ignore, "keep": keep}
        unused |= {"ignore_linear": ignore_linear, "names": names, "bits": bits != 18, "constant": not constant}
        for option, value in unused.items():
            if _is_given(value):
                raise InvalidValue(
                    f"stream.read_vw: {option} has no meaning with labels='actions': rounds keep the names of all "
                    "features, and bandit.Contextual forms the products of context and action"
                )
        maker = "stream.read_vw"
        return RoundFile(path, maker=maker, json=False, on_error=on_error, follow=follow, idle=idle)
    if by_class:
        if labels != "costs":
            raise InvalidValue(f"stream.read_vw: by_class must be False with labels={labels!r}")
        given = (interactions, ngram, skips, ignore, keep, ignore_linear, names)
        if any(map(_is_given, given)):
            raise InvalidValue(
                "stream.read_vw: with by_class=True, features are read as they are, without options"
            )
        from millstream.stream.cost_examples import CostExamples

        return CostExamples(path, on_error=on_error, follow=follow, idle=idle)
    options: dict[str, Any] = {
        "bits": bits,
        "constant": constant,
        "interactions": interactions,
        "ngram": ngram,
        "skips": skips,
        "ignore": ignore,
        "keep": keep,
        "ignore_linear": ignore_linear,
        "max_products": max_products,
        "names": names,
        "on_error": on_error,
        "follow": follow,
        "idle": idle,
    }
    if labels not in ("auto", "class", "number", "costs"):
        forms = "'auto', 'class', 'number', 'costs' or 'actions'"
        raise InvalidValue(f"stream.read_vw: labels must be {forms}, got {quoted(labels)}")
    if labels == "costs":
        from millstream.stream.cost_files import CostFile

        return CostFile(path, **options)
    return VowpalWabbit(path, labels=labels, **options)


def _is_given(option: Any) -> bool:
    """Whether an option differs from its default, which is empty."""
    return option is not None and option is not False and option not in ("", (), [], {})


def hash_feature(name: str, namespace: str = "", bits: int = 18) -> int:
    """The column of a feature in `read_vw`, for looking up its weight.

    >>> from millstream import stream
    >>> stream.hash_feature("money", "words")
    9355
    """
    seed = _core.hash_feature(namespace.encode(), 0) if namespace else 0
    return _core.hash_feature(name.encode(), seed) & ((1 << bits) - 1)
