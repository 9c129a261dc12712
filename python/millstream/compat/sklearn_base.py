"""The base class of scikit-learn estimators: parameters by path, tags, checks of rows and weights.

Rows are passed to the model unchanged: a matrix by position, a frame by its column names, so that nominal columns
and missing values reach it.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_consistent_length, column_or_1d, validate_data

from millstream._echo import quoted
from millstream._part import Part
from millstream.base import Model
from millstream.compat.parameters import changed, flat
from millstream.errors import InvalidType, InvalidValue

__all__ = ["Estimator"]


class Estimator(BaseEstimator):  # type: ignore[misc]
    """The base class of the estimators: parameters, tags, rows."""

    #: Weights can be routed to `fit`, though its signature does not announce them.
    __metadata_request__fit: ClassVar[dict[str, Any]] = {"sample_weight": None}
    __metadata_request__partial_fit: ClassVar[dict[str, Any]] = {"sample_weight": None}

    def __init__(self, model: Any) -> None:
        self.model = model

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters: the model, and with `deep` those inside it, `model__l2`."""
        parameters = {"model": self.model}
        if deep and isinstance(self.model, Part):
            parameters.update({f"model__{path}": value for path, value in flat(self.model, lower=True).items()})
        return parameters

    def set_params(self, **params: Any) -> Any:
        """Change parameters, `model__l2=0.1`. They take effect at the next `fit`."""
        if "model" in params:
            self.model = params["model"]
        inside = {}
        for path, value in params.items():
            head, _, rest = path.partition("__")
            if head != "model":
                raise InvalidValue(f"{type(self).__name__}: no parameter {path!r}; all begin with 'model'")
            if rest:
                inside[rest] = value
        if inside:
            self.model = changed(self.model, inside)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def _fresh(self) -> Any:
        if not isinstance(self.model, Model):
            raise InvalidType(
                f"{type(self).__name__}: model must be a model of millstream, got {quoted(self.model)}"
            )
        return self.model.clone()

    def _rows(self, X: Any, reset: bool) -> Any:
        """Rows after scikit-learn's checks, in a form that the model accepts."""
        if is_frame(X):
            validate_data(self, X, reset=reset, skip_check_array=True)
            if len(X) == 0:
                raise InvalidValue(
                    f"Found array with 0 sample(s) while a minimum of 1 is required by {type(self).__name__}."
                )
            if hasattr(self, "feature_names_in_"):
                return X
            X = X.to_numpy()
        X = validate_data(
            self, X, reset=reset, accept_sparse="csr", dtype="numeric", ensure_all_finite="allow-nan"
        )
        if hasattr(X, "tocsr"):
            return X
        return X if not hasattr(self, "feature_names_in_") else _named(X, self.feature_names_in_)

    def _weights(self, fit_params: dict[str, Any], rows: Any) -> Any:
        weights = fit_params.pop("sample_weight", None)
        for name in fit_params:
            raise TypeError(f"{type(self).__name__}: fit takes X, y and sample_weight, got {quoted(name)}")
        if weights is None:
            return None
        weights = column_or_1d(np.asarray(weights, dtype=np.float64))
        check_consistent_length(rows, weights)
        if not weights.any():
            raise InvalidValue("Sample weights must contain at least one non-zero number.")
        return weights


def is_frame(X: Any) -> bool:
    return type(X).__module__.partition(".")[0] in ("pandas", "polars", "pyarrow") and hasattr(X, "columns")


def _named(X: Any, names: Any) -> Any:
    """A matrix as a frame, for a model whose features have names."""
    import pyarrow

    return pyarrow.table({str(name): X[:, place] for place, name in enumerate(names)})
