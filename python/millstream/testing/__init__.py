"""Check your own learner: the laws that every model obeys.

`check_model` runs all laws on a model, native or written in Python, and raises an `AssertionError` that names the
first broken law, with an example. `checks` returns them one by one, for pytest.

Examples
--------
>>> from millstream import linear_model, testing
>>> testing.check_model(linear_model.LogisticRegression())
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from millstream._echo import quoted
from millstream.errors import InvalidValue
from millstream.roles import FORECASTER, POLICY, role_of
from millstream.testing import (
    asking,
    batches,
    copying,
    deciding,
    features,
    forecasting,
    integration,
    predicting,
    targets,
    weights,
)
from millstream.testing.law import BrokenLaw, Law
from millstream.testing.policies import PolicySubject
from millstream.testing.series import SeriesSubject
from millstream.testing.subject import Subject

__all__ = ["FORECASTER_LAWS", "LAWS", "POLICY_LAWS", "BrokenLaw", "Check", "check_model", "checks"]

#: In the order of checking: laws that others rely on come first.
_MODULES = (asking, predicting, copying, targets, batches, weights, features, integration)


def _laws_of(*modules: Any) -> dict[str, Law]:
    return {law.name: law for module in modules for law in vars(module).values() if isinstance(law, Law)}


_EVERY = _laws_of(*_MODULES)
_SHARED = ("unlearned", "finite", "determinism", "pure", "clone", "copies", "independence", "pickle")
_OF_FORECASTERS = {
    **{name: _EVERY[name] for name in (*_SHARED, "description", "bad targets")},
    **_laws_of(forecasting),
}
_OF_POLICIES = {
    **{name: _EVERY[name] for name in (*_SHARED, "description")},
    **_laws_of(deciding),
}

#: Each law of models of features by its name, in one sentence.
LAWS: dict[str, str] = {law.name: law.sentence for law in _EVERY.values()}
#: Each law of forecasters by its name, in one sentence.
FORECASTER_LAWS: dict[str, str] = {law.name: law.sentence for law in _OF_FORECASTERS.values()}
#: Each law of policies by its name, in one sentence.
POLICY_LAWS: dict[str, str] = {law.name: law.sentence for law in _OF_POLICIES.values()}


class Check:
    """One law for one model: call it to check."""

    def __init__(self, law: Law, subject: Subject) -> None:
        self._law, self._subject = law, subject
        #: The name of the law, which pytest shows.
        self.__name__ = law.name
        self.__doc__ = law.sentence

    def __call__(self) -> None:
        """Raise `BrokenLaw` if the model breaks the law."""
        self._law.check(self._subject)

    def __repr__(self) -> str:
        return f"<check of {self._subject.title}: {self._law.name}>"


def check_model(
    model: Any, *, skip: Iterable[str] | Mapping[str, str] = (), examples: Iterable[Any] | None = None
) -> None:
    """Check that a model obeys every law that applies to it.

    A law applies if the model has the verbs and arguments it is about: the laws of weights need a `learn_one` with
    `w`, those of probabilities a `predict_proba_one`. All checks take about a second. They use clones and copies,
    so the given model does not change.

    Parameters
    ----------
    model
        A classifier, regressor, transformer, anomaly detector, forecaster or policy, a class that needs no
        arguments, or a function that returns a model.
    skip
        Names of laws that the model breaks on purpose, preferably a dict with the reasons. `LAWS` has all names,
        `FORECASTER_LAWS` those of forecasters, `POLICY_LAWS` those of policies.
    examples
        At least 12 pairs of a dict and a target, for a learner that needs particular features or targets. By
        default the features are three numbers `a`, `b` and `c`. For a forecaster at least 12 numbers, for a policy
        at least 12 rewards.

    Examples
    --------
    >>> from millstream import base, testing
    >>> class Mean(base.Regressor):
    ...     def __init__(self):
    ...         self.total, self.n = 0.0, 0
    ...     def learn_one(self, x, y):
    ...         self.total, self.n = self.total + y, self.n + 1
    ...     def predict_one(self, x):
    ...         return self.total / self.n
    >>> testing.check_model(Mean)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    millstream.testing.law.BrokenLaw: Mean breaks the law 'unlearned': expected no error,
    got ZeroDivisionError: float division by zero; example: predict_one({'a': -0.70...
    """
    for check in checks(model, skip=skip, examples=examples):
        check()


def checks(
    model: Any, *, skip: Iterable[str] | Mapping[str, str] = (), examples: Iterable[Any] | None = None
) -> list[Check]:
    """The laws that apply to a model as functions to call, for `pytest.mark.parametrize`.

    The arguments are those of `check_model`.

    Examples
    --------
    >>> from millstream import linear_model, testing
    >>> every = testing.checks(linear_model.LinearRegression, skip={"threads": "it runs in one thread"})
    >>> every[0]
    <check of linear_model.LinearRegression: verbs>
    >>> every[0]()

    In a test file:

    >>> import pytest
    >>> @pytest.mark.parametrize("check", testing.checks(linear_model.LinearRegression))
    ... def test_my_learner(check):
    ...     check()
    """
    role = role_of(model) or _role_made_by(model)
    laws, subject_of = _OF_ROLE.get(str(role), (_EVERY, Subject))
    skipped = [skip] if isinstance(skip, str) else list(skip)
    for name in skipped:
        if name not in laws:
            raise InvalidValue(f"testing: skip must name laws ({', '.join(laws)}), got {quoted(name)}")
    subject = subject_of(model, examples)
    return [Check(law, subject) for law in laws.values() if law.name not in skipped and law.applies(subject)]


#: Roles with laws of their own, and how a model of each is tested.
_OF_ROLE: dict[str, tuple[dict[str, Law], type[Subject]]] = {
    FORECASTER: (_OF_FORECASTERS, SeriesSubject),
    POLICY: (_OF_POLICIES, PolicySubject),
}


def _role_made_by(function: Any) -> str | None:
    """The role of the model that a function returns."""
    if isinstance(function, type) or not callable(function):
        return None
    try:
        return role_of(function())
    except Exception:
        # `Subject` reports it.
        return None


def _listed(heading: str, laws: dict[str, str]) -> str:
    lines = "".join(f"    {name}\n        {sentence}\n" for name, sentence in laws.items())
    return f"\n    {heading}\n    {'-' * len(heading)}\n{lines}"


# The reference and `help` list the laws.
check_model.__doc__ = "".join(
    (
        str(check_model.__doc__),
        _listed("Laws", LAWS),
        _listed("Laws of forecasters", FORECASTER_LAWS),
        _listed("Laws of policies", POLICY_LAWS),
    )
)
