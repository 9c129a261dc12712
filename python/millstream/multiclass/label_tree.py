"""A tree over classes: the cost grows with the logarithm of their number."""

from __future__ import annotations

import heapq
import json
import math
from typing import Any

from millstream._echo import typed
from millstream._examples import check_example
from millstream.base import Features, Label
from millstream.compose.members import is_native
from millstream.compose.reduction import Lesson
from millstream.errors import InvalidType, InvalidValue
from millstream.multiclass.members import BinaryReduction
from millstream.multiclass.one_vs_rest import vote

__all__ = ["LabelTree"]

#: A native member can learn any row that it can predict, unless its numbers are so large that weights may
#: overflow.
_MODERATE = 1e30
#: A subtree gets no new class while it has more than this many times the classes of the other one, so the depth is
#: at most logarithmic.
_MOST_UNEQUAL = 3
#: Maximum number of nodes that are evaluated for each candidate.
_NODES = 8


class LabelTree(BinaryReduction):
    """A tree over classes for multiclass classification with thousands of classes.

    Each class is a leaf of a binary tree. The member of an inner node predicts which subtree contains the class of
    an example, and the probability of a class is the product along its path. The tree proposes the `n_candidates`
    most probable classes. Each class has a second member, which learns to tell its examples from those for which
    it was only proposed; these members divide the probability of the candidates between them. One member for each
    level of the tree and one for each candidate learn an example, and as many compute a prediction: with 1,000
    classes, about 20 instead of the 1,000 of `OneVsRest`. Choose it if `OneVsRest` is too slow. With up to a
    hundred classes, `OneVsRest` or `linear_model.SoftmaxRegression` is more accurate.

    A new class is inserted where the members send its first example, unless that would unbalance the tree. Similar
    classes are therefore often near each other.

    Parameters
    ----------
    model
        Classifier of two sets of classes: any native model or pipeline, or your own classifier in Python, which is
        cloned for each node and class. An example that a member refuses leaves all members unchanged.
    n_candidates
        Number of classes that the tree proposes; 0 for the tree alone, which is faster and less accurate.
    balance
        Weight of the subtree sizes relative to the members' predictions when a class is inserted; 1 for a balanced
        tree. The depth is logarithmic for any weight.

    Examples
    --------
    >>> from millstream import linear_model, multiclass
    >>> model = multiclass.LabelTree(linear_model.LogisticRegression("adaptive"))
    >>> for index in range(1500):
    ...     model.learn_one({f"word {index % 300}": 1.0}, f"topic {index % 300}")
    >>> sum(model.predict_one({f"word {index}": 1.0}) == f"topic {index}" for index in range(300))
    275
    >>> len(model.classes), model.depth
    (300, 12)

    References
    ----------
    Beygelzimer, A., Langford, J., Lifshits, Y., Sorkin, G. and Strehl, A. (2009). Conditional probability tree
    estimation analysis and algorithms.

    Jasinska-Kobus, K., Wydmuch, M., Thiruvenkatachari, D. and Dembczyński, K. (2021). Online probabilistic label
    trees.
    """

    aliases = {"classifier": "model", "estimator": "model"}
    _who = "multiclass.LabelTree"

    def __init__(self, model: Any, n_candidates: int = 8, balance: float = 0.5) -> None:
        self._check_model(model)
        if isinstance(n_candidates, bool) or not isinstance(n_candidates, int):
            raise InvalidType(f"{self._who}: n_candidates must be an integer >= 0, got {typed(n_candidates)}")
        if n_candidates < 0 or n_candidates == 1:
            raise InvalidValue(f"{self._who}: n_candidates must be 0 or an integer >= 2, got {n_candidates}")
        if isinstance(balance, bool) or not isinstance(balance, (int, float)):
            raise InvalidType(f"{self._who}: balance must be a number in [0, 1], got {typed(balance)}")
        if not 0.0 <= balance <= 1.0:
            raise InvalidValue(f"{self._who}: balance must be a number in [0, 1], got {balance}")
        self.model, self.n_candidates, self.balance = model, n_candidates, balance
        #: The node of each class.
        self.leaves: dict[Label, int] = {}
        #: The member that tells each class from the others that the tree proposes; none without candidates.
        self.members: dict[Label, Any] = {}
        # By node: the parent, the children of an inner node, its member, the class of a leaf, the leaves below.
        self._parents: list[int] = []
        self._children: list[tuple[int, int] | None] = []
        self._routers: list[Any] = []
        self._labels: list[Any] = []
        self._sizes: list[int] = []
        self._is_fast = is_native(model) and "preprocessing.Guard" not in json.dumps(model.describe())
        self._start()

    @property
    def classes(self) -> list[Label]:  # type: ignore[override]
        """The classes so far, in the order of their first example."""
        return list(self.leaves)

    @property
    def depth(self) -> int:
        """The largest number of inner nodes above a class."""
        return max((len(self._path(label)) for label in self.leaves), default=0)

    def _path(self, label: Label) -> list[tuple[int, bool]]:
        """The inner nodes above a class, from the root, and whether it is in the right subtree."""
        found = []
        node = self.leaves[label]
        while (parent := self._parents[node]) >= 0:
            children = self._children[parent]
            found.append((parent, children is not None and children[1] == node))
            node = parent
        return found[::-1]

    def _right(self, node: int, x: Features) -> float:
        """The probability of the right subtree; one half before the member has learned anything."""
        router = self._routers[node]
        return vote(router, x) if getattr(router, "learned", 1) else 0.5

    def _likely(self, x: Features, count: int) -> dict[Label, float]:
        """The most probable classes by the tree, with their probabilities in descending order.

        If many classes are about equally probable, there are fewer than `count`: at most `_NODES` nodes are
        evaluated for each.
        """
        found: dict[Label, float] = {}
        left = _NODES * count
        # Nodes of the greatest probability first; the older one of two equal ones.
        queue = [(-1.0, 0)] if self._parents else []
        while queue and len(found) < count and (left > 0 or not found):
            negative, node = heapq.heappop(queue)
            children = self._children[node]
            if children is None:
                found[self._labels[node]] = -negative
                continue
            right = self._right(node, x)
            left -= 1
            heapq.heappush(queue, (negative * (1.0 - right), children[0]))
            heapq.heappush(queue, (negative * right, children[1]))
        return found

    def _shared(self, x: Features) -> dict[Label, float]:
        """The probabilities of the candidates."""
        found = self._likely(x, max(self.n_candidates, 1))
        if not self.n_candidates:
            return found
        votes = {
            label: vote(self.members[label], x) if getattr(self.members[label], "learned", 1) else 0.0
            for label in found
        }
        total, mass = sum(votes.values()), sum(found.values())
        return {label: mass * own / total for label, own in votes.items()} if total > 0.0 else found

    def predict_one(self, x: Features) -> Any:
        """The most probable class for one example; None before the first example."""
        found = self._shared(x)
        return max(found, key=found.__getitem__) if found else None

    def predict_proba_one(self, x: Features) -> dict[Label, float]:
        """The probability of each class for one example: this evaluates the members of all nodes."""
        found = {**self._likely(x, len(self.leaves)), **self._shared(x)}
        total = math.fsum(found.values())
        return {label: found[label] / total for label in self.leaves}

    def learn_one(self, x: Features, y: Any = None, w: float = 1.0) -> None:
        """Learn one example."""
        check_example(self._who, self.role, y, w)
        if w == 0.0:
            return
        added = None if y in self.leaves else self._insert(x, y)
        try:
            self._teach(self._lessons(x, y, w))
        except BaseException:
            if added is not None:
                self._take_out(y, added)
            raise

    def _lessons(self, x: Features, y: Label, w: float) -> list[Lesson]:
        lessons: list[Lesson] = [(self._routers[node], x, right, w) for node, right in self._path(y)]
        if self.n_candidates:
            rivals = [label for label in self._likely(x, self.n_candidates) if label != y]
            lessons.append((self.members[y], x, True, w))
            lessons += [(self.members[label], x, False, w) for label in rivals]
        return lessons

    def _teach(self, lessons: Any) -> None:
        lessons = list(lessons)
        is_fast = self._is_fast and all(
            not isinstance(value, (int, float)) or abs(value) <= _MODERATE
            for row in lessons[:1]
            for value in (*row[1].values(), row[3])
        )
        if not is_fast:
            super()._teach(lessons)
            return
        # A member can learn any row that it can predict, so either all members learn, or none.
        for member, x, _, _ in lessons:
            member.predict_one(x)
        interrupt = None
        for member, x, y, w in lessons:
            learned = member.learned
            try:
                member.learn_one(x, y, w)
            except KeyboardInterrupt as error:
                interrupt = error
                if member.learned == learned:
                    member.learn_one(x, y, w)
        if interrupt is not None:
            raise interrupt

    def _insert(self, x: Features, y: Label) -> int:
        """Add a leaf for a class; returns the leaf whose place is now an inner node, or -1."""
        member = self.model.clone() if self.n_candidates else None
        if not self._parents:
            self._add(-1, y)
            self._keep(y, 0, member)
            return -1
        node = 0
        while (children := self._children[node]) is not None:
            right = self._right(node, x)
            # The part of the classes on the other side: the smaller side is preferred.
            left_size, right_size = self._sizes[children[0]], self._sizes[children[1]]
            score = (1.0 - self.balance) * right + self.balance * left_size / (left_size + right_size)
            if max(left_size, right_size) > _MOST_UNEQUAL * min(left_size, right_size):
                score = float(right_size < left_size)
            node = children[1] if score > 0.5 or (score == 0.5 and right_size < left_size) else children[0]
        router = self.model.clone()
        old = self._labels[node]
        left, right_leaf = self._add(node, old), self._add(node, y)
        self.leaves[old] = left
        self._children[node], self._routers[node], self._labels[node] = (left, right_leaf), router, None
        self._count(node, 1)
        self._keep(y, right_leaf, member)
        return node

    def _add(self, parent: int, label: Any) -> int:
        self._parents.append(parent)
        self._children.append(None)
        self._routers.append(None)
        self._labels.append(label)
        self._sizes.append(1)
        return len(self._parents) - 1

    def _keep(self, y: Label, node: int, member: Any) -> None:
        self.leaves[y] = node
        if member is not None:
            self.members[y] = member

    def _count(self, node: int, more: int) -> None:
        while node >= 0:
            self._sizes[node] += more
            node = self._parents[node]

    def _take_out(self, y: Label, node: int) -> None:
        """Remove the class that was added last."""
        del self.leaves[y]
        self.members.pop(y, None)
        if node >= 0:
            children = self._children[node]
            old: Any = self._labels[children[0]] if children is not None else None
            self._count(node, -1)
            self._children[node], self._routers[node], self._labels[node] = None, None, old
            self.leaves[old] = node
        for column in (self._parents, self._children, self._routers, self._labels, self._sizes):
            del column[-1 if node < 0 else -2 :]
