"""Ensembles: the votes of members, weighted by the trust in each, and their combination."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from millstream.export.families.trees import (
    Planted,
    certain,
    class_probabilities,
    numbers,
    plant_classes,
    plant_numbers,
)
from millstream.export.graph import Graph, Value
from millstream.export.rows import NUMBER, Answer, Component, Row
from millstream.export.state import unpack
from millstream.export.translation import answer, translates


def accuracy(record: dict[str, float]) -> float:
    """The trust in a classifier with this record."""
    return 1.0 - record["error"] if record["weight"] > 0.0 else 0.0


def closeness(record: dict[str, float]) -> float:
    """The trust in a regressor with this record."""
    return 1.0 / max(record["error"], np.finfo(np.float64).tiny) if record["weight"] > 0.0 else 0.0


def balanced(trust: Sequence[float]) -> np.ndarray[Any, Any]:
    """Equal weights if nobody is trusted."""
    found = np.asarray(trust, dtype=np.float64)
    return found if found.any() else np.ones_like(found)


def votes_of(graph: Graph, found: Answer, classes: int) -> Value | None:
    """The votes of a classifier for each class; None if it has none for any row."""
    if found.probabilities is None:
        return None
    votes = found.probabilities
    if votes.shape[0] > classes:
        votes = graph.take(votes, range(classes))
    elif votes.shape[0] < classes:
        votes = graph.concat([votes, np.zeros(classes - votes.shape[0])])
    if found.decision is not None:
        votes = graph.where(found.decision.reshape(1).equals(-1), 0.0, votes)
    return votes


def shares(graph: Graph, votes: Value, trust: Any, classes: Any, *, certain: bool = False) -> Answer:
    """Votes as (member, class), weighted and normalised; the class frequencies where there is no vote, unless it
    is certain
    that there is one."""
    if certain and np.sum(trust) > 0.0:
        weights = np.asarray(trust, dtype=np.float64)
        return Answer((votes * (weights / weights.sum())[:, None]).sum(0))
    known = np.asarray(classes, dtype=np.float64)
    totals = (votes * np.asarray(trust, dtype=np.float64)[:, None]).sum(0)
    total = totals.sum().reshape(1)
    width = totals.shape[0]
    largest = known.max(initial=0.0)
    frequencies = np.zeros(width)
    if largest > 0.0:
        frequencies[: len(known)] = known / largest / (known / largest).sum()
    voted = total > 0.0
    probabilities = graph.where(voted, totals / graph.where(voted, total, 1.0), frequencies)
    decision = None if largest > 0.0 else graph.where(voted.reshape(), graph.argmax(totals), -1)
    return Answer(probabilities, decision)


def width_of(classes: Any) -> int:
    """The number of votes of a member."""
    return max(len(classes), 2)


def vote(
    graph: Graph, answers: Sequence[Answer], trust: Sequence[float], classes: Any, hard: bool = False
) -> Answer:
    """The combination of the members of a classifier."""
    width = width_of(classes)
    votes, weights = [], []
    for found, weight in zip(answers, balanced(trust), strict=True):
        own = votes_of(graph, found, width)
        if own is None:
            continue
        if hard:
            most = graph.argmax(own).reshape(1).equals(np.arange(width))
            own = graph.where(own.max().reshape(1) > 0.0, graph.to_double(most), 0.0)
        votes.append(own.reshape(1, width))
        weights.append(weight)
    if not votes:
        votes, weights = [graph.constant(np.zeros((1, width)))], [0.0]
    return shares(graph, graph.concat(votes, axis=0), weights, classes)


def mean(graph: Graph, found: Value, trust: Any, how: str) -> Answer:
    """The mean or median of numbers, one for each member."""
    trust = balanced(trust)
    if how == "median":
        chosen = np.flatnonzero(trust > 0.0)
        members = graph.take(found, chosen)
        order = graph.nearest(members, len(chosen))
        ordered = graph.pick(members, order)
        middle = len(chosen) // 2
        if len(chosen) % 2:
            return Answer(number=graph.take(ordered, [middle]))
        return Answer(number=graph.take(ordered, [middle - 1]) / 2.0 + graph.take(ordered, [middle]) / 2.0)
    weights = trust / trust.max()
    return Answer(number=(found * (weights / weights.sum())).sum().reshape(1))


def average(graph: Graph, answers: Sequence[Answer], trust: Any, how: str) -> Answer:
    """The combination of the members of a regressor."""
    return mean(graph, graph.concat([found.number.reshape(1) for found in answers]), trust, how)  # type: ignore[union-attr]


@translates("forest.ARFClassifier")
def forest_classifier(component: Component, row: Row) -> Answer:
    """All trees in one table."""
    graph = row.graph
    members = [unpack(raw) for raw in component.state["members"]]
    classes = component.state["classes"]
    planted = Planted(row)
    weights = []
    trees = []
    for member in members:
        tree = unpack(member["tree"])
        weight = accuracy(member["record"]) if not component.parameters["disable_weighted_vote"] else 1.0
        weights.append(weight if tree["learned"] else 0.0)
        trees.append(tree)
    trust = balanced(weights)
    width = width_of(classes)
    heard = [number for number, tree in enumerate(trees) if tree["classes"]]
    if not heard:
        return vote(graph, [], [], classes)
    for number in heard:
        plant_classes(planted, trees[number])
    prediction = component.parameters["leaf_prediction"]
    found = class_probabilities(planted, prediction, width, planted.reached())
    return shares(graph, found, trust[heard], classes, certain=certain(planted))


@translates("forest.ARFRegressor")
def forest_regressor(component: Component, row: Row) -> Answer:
    """All trees in one table."""
    planted = Planted(row)
    trust = []
    for raw in component.state["members"]:
        member = unpack(raw)
        tree = unpack(member["tree"])
        weight = closeness(member["record"]) if not component.parameters["disable_weighted_vote"] else 1.0
        trust.append(weight if tree["learned"] else 0.0)
        plant_numbers(planted, tree)
    found, _ = numbers(planted, component.parameters["leaf_prediction"], planted.reached())
    return mean(row.graph, found, trust, component.parameters.get("aggregation", "mean"))


def _members(component: Component) -> list[dict[str, Any]]:
    return [unpack(raw) for raw in component.state["members"]]


TOGETHER = ("tree.HoeffdingTreeClassifier",)


def _answers(component: Component, learners: Sequence[bytes], rows: Sequence[Row]) -> list[Answer]:
    """What each member answers, each a copy of the parameter `model`."""
    description = component.parameters["model"]
    return [answer(Component.of(description, raw), row) for raw, row in zip(learners, rows, strict=True)]


def _trees_together(
    component: Component, row: Row, learners: Sequence[bytes], trust: Any, classes: Any
) -> Answer | None:
    """Members that are trees and read the same row, in one table."""
    description = component.parameters["model"]
    if description["name"] not in TOGETHER:
        return None
    trees = [unpack(raw) for raw in learners]
    heard = [number for number, tree in enumerate(trees) if tree["classes"]]
    if not heard:
        return vote(row.graph, [], [], classes)
    planted = Planted(row)
    for number in heard:
        plant_classes(planted, trees[number])
    prediction = description["parameters"]["leaf_prediction"]
    found = class_probabilities(planted, prediction, width_of(classes), planted.reached())
    return shares(row.graph, found, balanced(trust)[heard], classes, certain=certain(planted))


@translates("ensemble.Bagging", "ensemble.LeveragingBagging", "ensemble.ADWINBagging")
def bagging(component: Component, row: Row) -> Answer:
    """Members with equal votes."""
    if component.parameters.get("output_codes"):
        raise component.refuse("with output codes; use output_codes=False")
    learners = [member["learner"] for member in _members(component)]
    trust = [1.0] * len(learners)
    classes = component.state["classes"]
    together = _trees_together(component, row, learners, trust, classes)
    if together is not None:
        return together
    return vote(row.graph, _answers(component, learners, [row] * len(learners)), trust, classes)


@translates("ensemble.AdaBoost")
def boosting(component: Component, row: Row) -> Answer:
    """Members with a weight that follows from their error."""
    members = _members(component)
    trust = []
    for member in members:
        total = member["right"] + member["wrong"]
        error = max(member["wrong"] / total, 1e-10) if total else 1.0
        trust.append(max(np.log((1.0 - error) / error), 0.0) if 0.0 < error < 1.0 else 0.0)
    learners = [member["learner"] for member in members]
    classes = component.state["classes"]
    together = _trees_together(component, row, learners, trust, classes)
    if together is not None:
        return together
    return vote(row.graph, _answers(component, learners, [row] * len(learners)), trust, classes)


@translates("ensemble.BaggingRegressor")
def bagging_regressor(component: Component, row: Row) -> Answer:
    """Members with equal weights."""
    learners = [member["learner"] for member in _members(component)]
    answers = _answers(component, learners, [row] * len(learners))
    return average(row.graph, answers, [1.0] * len(answers), component.parameters["aggregation"])


def _patches(component: Component, row: Row, trusted: Any) -> tuple[list[Answer], list[float]]:
    fronts = [member["front"] for member in _members(component)]
    whole = component.parameters["training_method"] == "resampling"
    rows = [row if whole else row.cut([int(slot) for slot in front["subspace"]["slots"]]) for front in fronts]
    answers = _answers(component, [front["learner"] for front in fronts], rows)
    weighted = not component.parameters["disable_weighted_vote"]
    return answers, [trusted(front["record"]) if weighted else 1.0 for front in fronts]


@translates("ensemble.SRPClassifier")
def patches_classifier(component: Component, row: Row) -> Answer:
    """Members that read some features each."""
    return vote(row.graph, *_patches(component, row, accuracy), component.state["classes"])


@translates("ensemble.SRPRegressor")
def patches_regressor(component: Component, row: Row) -> Answer:
    """Members that read some features each."""
    return average(row.graph, *_patches(component, row, closeness), component.parameters["aggregation"])


def _models(component: Component, row: Row, members: Sequence[dict[str, Any]]) -> list[Answer]:
    models = component.parameters["models"]
    return [
        answer(Component.of(model, member["learner"]), row) for model, member in zip(models, members, strict=True)
    ]


@translates("ensemble.Voting")
def voting(component: Component, row: Row) -> Answer:
    """Different models with fixed weights."""
    members = _members(component)
    weights = component.parameters["weights"] or [1.0] * len(members)
    hard = not component.parameters["use_probabilities"]
    return vote(row.graph, _models(component, row, members), weights, component.state["classes"], hard)


@translates("ensemble.WeightedMajority")
def weighted_majority(component: Component, row: Row) -> Answer:
    """Different models whose weights fall with their mistakes."""
    members = _members(component)
    mistakes = np.array([member["mistakes"] for member in members])
    with np.errstate(all="ignore"):
        weights = np.power(component.parameters["mistake_factor"], mistakes - mistakes.min())
    return vote(row.graph, _models(component, row, members), list(weights), component.state["classes"], True)


@translates("ensemble.VotingRegressor")
def voting_regressor(component: Component, row: Row) -> Answer:
    """The average of different models."""
    members = _members(component)
    weights = component.parameters["weights"] or [1.0] * len(members)
    return average(row.graph, _models(component, row, members), weights, component.parameters["aggregation"])


def _meta_row(component: Component, row: Row, votes: Value, models: int) -> Row:
    """The row of the meta model: votes as (model, vote), and the features if it receives them."""
    graph = row.graph
    layout = component.state["layout"]
    features = [int(slot) for slot in layout["features"]]
    slots = [int(slot) for slot in layout["votes"]]
    stride = votes.shape[1]
    order = [at % models * stride + at // models for at in range(len(slots))]
    parts = [graph.take(votes.reshape(models * stride), order)]
    if features:
        parts.insert(0, row.take(range(len(features))))
    places = np.argsort([*features, *slots])
    values = graph.take(graph.concat(parts), places)
    cut = row.cut(range(len(features)))
    names = [*cut.names, *(f"vote {at}" for at in range(len(slots)))]
    kinds = [*cut.kinds, *[NUMBER] * len(slots)]
    texts: list[list[str]] = [*cut.texts, *([] for _ in slots)]
    return row.with_values(
        values,
        names=[names[place] for place in places],
        kinds=[kinds[place] for place in places],
        texts=[texts[place] for place in places],
    )


def _stack(component: Component, row: Row, read: Any) -> Answer:
    members = [unpack(raw) for raw in component.state["members"]]
    answers = _models(component, row, members)
    votes = read(answers, len(component.state["layout"]["votes"]) // max(len(members), 1))
    meta = Component.of(component.parameters["meta_model"], component.state["meta"])
    if votes is None:
        values = np.zeros((len(members), 0))
        votes = row.graph.constant(values)
    found: Answer = answer(meta, _meta_row(component, row, votes, len(members)))
    return found


@translates("ensemble.Stacking")
def stacking(component: Component, row: Row) -> Answer:
    """A model of the probabilities that others predict."""
    graph = row.graph

    def read(answers: list[Answer], width: int) -> Value | None:
        if not width:
            return None
        votes = [votes_of(graph, found, width) for found in answers]
        zeros = graph.constant(np.zeros(width))
        return graph.concat([(zeros if own is None else own).reshape(1, width) for own in votes], axis=0)

    return _stack(component, row, read)


@translates("ensemble.StackingRegressor")
def stacking_regressor(component: Component, row: Row) -> Answer:
    """A model of the numbers that others predict."""
    graph = row.graph

    def read(answers: list[Answer], width: int) -> Value | None:
        if not width:
            return None
        return graph.concat([found.number.reshape(1, 1) for found in answers], axis=0)  # type: ignore[union-attr]

    return _stack(component, row, read)


@translates("multiclass.OneVsRest")
def one_vs_rest(component: Component, row: Row) -> Answer:
    """A model for each class."""
    graph = row.graph
    members = component.state["members"]
    met = np.array([raw is not None for raw in members], dtype=bool)
    if not met.any():
        return Answer()
    halves: list[Any] = []
    for raw in members:
        found = None if raw is None else answer(Component.of(component.parameters["model"], raw), row)
        votes = None if found is None else votes_of(graph, found, 2)
        halves.append(np.zeros(1) if votes is None else graph.take(votes, [1]))
    own = graph.concat(halves)
    decision = graph.argmax(graph.where(met, own, -np.inf) if not met.all() else own)
    total = own.sum().reshape(1)
    probabilities = graph.where(total > 0.0, own / graph.where(total > 0.0, total, 1.0), met / met.sum())
    return Answer(probabilities, decision)
