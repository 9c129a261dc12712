"""Laws of use in pipelines, evaluation and threads."""

from __future__ import annotations

from typing import Any

from millstream import evaluate, preprocessing
from millstream._echo import quoted
from millstream.base import Model
from millstream.testing.answers import same
from millstream.testing.interleaving import Learner
from millstream.testing.law import Broken, broken, law
from millstream.testing.subject import Subject

#: Number of predictions of a thread while another learns.
_ROUNDS = 10


@law("pipeline")
def works_in_a_pipeline(subject: Subject) -> None:
    """Behind a StandardScaler the model learns and predicts what it would from scaled examples."""
    scaler, alone = preprocessing.StandardScaler(), subject.fresh()
    behind: Any = preprocessing.StandardScaler() | subject.fresh()
    for x, y in subject.examples:
        wanted, got = subject.ask(alone, scaler.transform_one(x)), subject.ask(behind, x)
        if not same(got, wanted):
            broken(f"of StandardScaler() | model {quoted(wanted)}", quoted(got))
        subject.learn(behind, dict(x), y)
        scaler.learn_one(x)
        subject.learn(alone, scaler.transform_one(x), y)


@law("prequential", lambda subject: subject.role.is_evaluated and isinstance(subject.fresh(), Model))
def can_be_evaluated(subject: Subject) -> None:
    """`evaluate.prequential` scores the model, and leaves it in the same state as a loop."""
    evaluated, alone = subject.fresh(), subject.taught(subject.fresh(), subject.examples)
    subject.last_call = "evaluate.prequential(model, examples)"
    result = evaluate.prequential(evaluated, [(dict(x), y) for x, y in subject.examples], progress=False)
    if result.rows != len(subject.examples):
        broken(f"{len(subject.examples)} rows", quoted(result.rows))
    if result.unanswered >= result.rows:
        broken("predictions that can be scored", "none")
    subject.expect_same(evaluated, alone, "prequential to leave the model in the same state as a loop")


@law("threads")
def predicts_beside_a_thread_that_learns(subject: Subject) -> None:
    """A thread may predict while another learns: neither fails, and what is learned is the same."""
    # All features and classes are known from here on.
    shared = subject.taught(subject.fresh(), subject.examples)
    learner = Learner(subject, shared)
    learner.start()
    try:
        for _ in range(_ROUNDS):
            for verb in subject.role.asks:
                if verb in subject.asks and not learner.failures:
                    learner.interrupt(getattr(shared, verb), dict(subject.rows[0]))
    except Exception as error:
        subject.last_call = f"{verb}({quoted(subject.rows[0], 100)})"
        got = f"{type(error).__name__}: {error}"
        raise Broken("a prediction while another thread learns", got, None) from error
    finally:
        learner.stop()
    if learner.failures:
        got = f"{type(learner.failures[0]).__name__}: {learner.failures[0]}"
        broken("to learn beside a thread that predicts", got)
    alone = subject.taught(subject.fresh(), subject.examples + learner.learned)
    subject.expect_same(shared, alone, "to learn the same beside a thread that predicts")
