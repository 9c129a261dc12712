"""Small data sets of scikit-learn, for quick experiments."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from typing import Any

import numpy as np

from millstream._echo import quoted
from millstream.datasets.base import Dataset
from millstream.errors import InvalidValue, MissingPackage
from millstream.stream.chunk import Chunk

__all__ = ["BreastCancer", "Diabetes", "Digits", "Iris", "Wine"]


class _Small(Dataset):
    """A scikit-learn data set. The rows have no temporal order; some files are sorted by class."""

    #: scikit-learn's function that loads it.
    _loader: str

    def __init__(self, seed: int | None = 0) -> None:
        if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int) or seed < 0):
            must = "seed must be None or an integer, at least 0"
            raise InvalidValue(f"datasets.{type(self).__name__}: {must}, got {quoted(seed)}")
        self.seed = seed

    def _labels(self, loaded: Any) -> Any:
        return loaded.target

    def chunks(self) -> Iterator[Chunk]:
        import pyarrow

        if importlib.util.find_spec("sklearn") is None:
            raise MissingPackage(
                f"datasets.{type(self).__name__}: the package scikit-learn is not installed: "
                'pip install "millstream[datasets]"'
            )
        from sklearn import datasets

        loaded = getattr(datasets, self._loader)()
        y = self._labels(loaded)
        order = np.arange(len(y)) if self.seed is None else np.random.default_rng(self.seed).permutation(len(y))
        columns = {
            str(name): loaded.data[order, place].astype(np.float64)
            for place, name in enumerate(loaded.feature_names)
        }
        yield Chunk(pyarrow.table(columns), y[order])


class Iris(_Small):
    """Fisher's irises: the species of 150 flowers from the length and width of sepals and petals.

    Parameters
    ----------
    seed
        Seed for shuffling the rows, because the file is sorted by species; None keeps the file's order.

    Examples
    --------
    >>> from millstream import datasets, evaluate, naive_bayes
    >>> result = evaluate.prequential(naive_bayes.GaussianNB(), datasets.Iris(), metrics="Accuracy")
    >>> round(result["Accuracy"], 2)
    0.93

    References
    ----------
    Fisher, R. A. (1936). The use of multiple measurements in taxonomic problems. Annals of Eugenics.
    """

    words = "the species of irises from the size of sepals and petals"
    task, rows, n_features, target = "classification", 150, 4, "species"
    source, licence = "UCI machine learning repository, by scikit-learn", "CC BY 4.0"
    citation = "Fisher, R. A. (1936). The use of multiple measurements in taxonomic problems"
    _loader = "load_iris"

    def _labels(self, loaded: Any) -> Any:
        return loaded.target_names.astype(object)[loaded.target]


class Wine(_Small):
    """178 wines of one region of Italy: the grower (one of three) from a chemical analysis.

    Parameters
    ----------
    seed
        Seed for shuffling the rows, because the file is sorted by grower; None keeps the file's order.

    Examples
    --------
    >>> from millstream import datasets
    >>> x, y = next(iter(datasets.Wine(seed=None)))
    >>> x["alcohol"], y
    (14.23, 'class_0')

    References
    ----------
    Aeberhard, S., Coomans, D. and de Vel, O. (1994). Comparative analysis of statistical pattern recognition
    methods in high dimensional settings. Pattern Recognition.
    """

    words = "the grower of a wine from a chemical analysis"
    task, rows, n_features, target = "classification", 178, 13, "grower"
    source, licence = "UCI machine learning repository, by scikit-learn", "CC BY 4.0"
    citation = "Aeberhard, S. and Forina, M. (1991). Wine. UCI machine learning repository"
    _loader = "load_wine"

    def _labels(self, loaded: Any) -> Any:
        return loaded.target_names.astype(object)[loaded.target]


class BreastCancer(_Small):
    """569 tumours: malignant or not, from measurements of cell nuclei in an image.

    Parameters
    ----------
    seed
        Seed for shuffling the rows; None keeps the file's order.

    Examples
    --------
    >>> from millstream import datasets, evaluate, linear_model, preprocessing
    >>> model = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    >>> round(evaluate.prequential(model, datasets.BreastCancer(), metrics="ROCAUC")["ROCAUC"], 2)
    0.99

    References
    ----------
    Street, W. N., Wolberg, W. H. and Mangasarian, O. L. (1993). Nuclear feature extraction for breast tumor
    diagnosis.
    """

    words = "whether a tumour is malignant, from an image of its cells"
    task, rows, n_features, target = "classification", 569, 30, "malignant"
    source, licence = "UCI machine learning repository, by scikit-learn", "CC BY 4.0"
    citation = (
        "Wolberg, W., Mangasarian, O., Street, N. and Street, W. (1993). Breast Cancer Wisconsin (Diagnostic)"
    )
    _loader = "load_breast_cancer"

    def _labels(self, loaded: Any) -> Any:
        return loaded.target == loaded.target_names.tolist().index("malignant")


class Digits(_Small):
    """1,797 handwritten digits as images of 8 × 8 pixels.

    Parameters
    ----------
    seed
        Seed for shuffling the rows; None keeps the file's order, in which one writer follows another.

    Examples
    --------
    >>> from millstream import datasets, evaluate, linear_model, preprocessing
    >>> model = preprocessing.MinMaxScaler() | linear_model.SoftmaxRegression()
    >>> round(evaluate.prequential(model, datasets.Digits(), metrics="Accuracy")["Accuracy"], 2)
    0.78

    References
    ----------
    Kaynak, C. (1995). Methods of combining multiple classifiers and their applications to handwritten digit
    recognition.
    """

    words = "handwritten digits as images of 8 × 8 pixels"
    task, rows, n_features, target = "classification", 1_797, 64, "digit"
    source, licence = "UCI machine learning repository, by scikit-learn", "CC BY 4.0"
    citation = "Alpaydin, E. and Kaynak, C. (1998). Optical recognition of handwritten digits"
    _loader = "load_digits"


class Diabetes(_Small):
    """442 patients: disease progression after one year, for regression.

    Parameters
    ----------
    seed
        Seed for shuffling the rows; None keeps the file's order.

    Examples
    --------
    >>> from millstream import datasets, evaluate, linear_model, preprocessing
    >>> model = preprocessing.StandardScaler() | linear_model.LinearRegression()
    >>> round(evaluate.prequential(model, datasets.Diabetes(), metrics="MAE")["MAE"])
    57

    References
    ----------
    Efron, B., Hastie, T., Johnstone, I. and Tibshirani, R. (2004). Least angle regression. Annals of Statistics.
    """

    words = "disease progression of diabetes after one year, from ten measurements"
    task, rows, n_features, target = "regression", 442, 10, "progression"
    source, licence = "the authors of the paper, by scikit-learn", "BSD-3-Clause, as shipped by scikit-learn"
    citation = "Efron, B., Hastie, T., Johnstone, I. and Tibshirani, R. (2004). Least angle regression"
    _loader = "load_diabetes"
