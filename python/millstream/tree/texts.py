"""A tree as text: how much of it is shown, and its lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from millstream._echo import escaped, quoted
from millstream.errors import InvalidType, InvalidValue
from millstream.tree.grown import Branch, Grown, Node, amount

__all__ = ["Cut", "count", "text_of"]

#: What is drawn without being asked how deep: about a screen of text.
_MOST_NODES = 48
_MOST_BRANCHES = 12


@dataclass(frozen=True)
class Cut:
    """What of a tree is shown: down to a depth, and of a split into many values the branches of most examples."""

    grown: Grown
    max_depth: int
    max_branches: int = _MOST_BRANCHES

    @classmethod
    def of(cls, grown: Grown, max_depth: int | None, max_branches: int | None = None) -> Cut:
        """The cut that was asked for, or one that can be read at a glance."""
        widest = _MOST_BRANCHES if max_branches is None else count("max_branches", max_branches, 2)
        if max_depth is not None:
            return cls(grown, count("max_depth", max_depth, 0), widest)
        shown, level, depth = 1, [grown.root], 0
        while True:
            cut = cls(grown, depth + 1, widest)
            level = [child for node in level for _, child in cut.children(node)]
            shown += len(level)
            if not level or (shown > _MOST_NODES and depth):
                return cls(grown, depth, widest)
            depth += 1

    def children(self, node: Node) -> list[tuple[Branch, Node]]:
        """The branches of a node that are shown, in their order."""
        if node.depth >= self.max_depth:
            return []
        pairs = [(branch, self.grown.nodes[branch.child]) for branch in node.branches]
        if len(pairs) <= self.max_branches:
            return pairs
        heavy = sorted(range(len(pairs)), key=lambda place: -pairs[place][1].weight)[: self.max_branches - 1]
        return [pairs[place] for place in sorted(heavy)]

    def folded(self, node: Node) -> tuple[int, int]:
        """Of a node whose branches are shown in part, how many are not, and how many nodes they have."""
        shown = self.children(node)
        if not shown:
            return 0, 0
        return len(node.branches) - len(shown), node.below - sum(child.below + 1 for _, child in shown)

    @property
    def hidden(self) -> int:
        """Nodes that are not shown."""
        shown, level = 0, [self.grown.root]
        while level:
            shown += len(level)
            level = [child for node in level for _, child in self.children(node)]
        return len(self.grown.nodes) - shown

    def head(self) -> str:
        """The tree in one line."""
        grown = self.grown
        leaves = sum(1 for _ in grown.leaves())
        return (
            f"{grown.title}: {grown.learned:,} example{'s' * (grown.learned != 1)} learned, "
            f"{leaves:,} {'leaf' if leaves == 1 else 'leaves'}, depth {grown.depth}"
        )

    def foot(self) -> str:
        """How much is hidden, if anything."""
        hidden = self.hidden
        if not hidden:
            return ""
        return f"{hidden:,} of {len(self.grown.nodes):,} nodes not shown; max_depth and max_branches show more"


def count(name: str, value: object, least: int) -> int:
    """A whole number that was given by the user."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise InvalidType(f"draw: {name} must be a whole number, got {quoted(value)}")
    number = int(value)
    if number < least:
        raise InvalidValue(f"draw: {name} must be at least {least}, got {number}")
    return number


def text_of(cut: Cut) -> str:
    """The tree as lines, a branch for each."""
    # A name may hold line breaks, which must not forge nodes.
    return "\n".join(map(escaped, _lines(cut)))


def _lines(cut: Cut) -> Iterator[str]:
    grown = cut.grown
    yield cut.head()
    yield f"{amount(grown.root.weight)}: {grown.said(grown.root)}{_cut_here(cut, grown.root)}"
    waiting = _below(cut, grown.root, "")
    while waiting:
        prefix, branch, node = waiting.pop()
        if isinstance(node, str):
            yield prefix + "└─ " + node
            continue
        last = not waiting or len(waiting[-1][0]) < len(prefix)
        missing = " or missing" if branch is not None and branch.missing else ""
        said = f"{grown.said(node)}{grown.state(node)}{_cut_here(cut, node)}"
        yield f"{prefix}{'└─' if last else '├─'} {branch}{missing}: {amount(node.weight)}, {said}"
        waiting += _below(cut, node, prefix + ("   " if last else "│  "))
    if foot := cut.foot():
        yield foot


def _below(cut: Cut, node: Node, prefix: str) -> list[tuple[str, Branch | None, Node | str]]:
    """What hangs from a node, last first."""
    below: list[tuple[str, Branch | None, Node | str]] = [
        (prefix, branch, child) for branch, child in cut.children(node)
    ]
    branches, nodes = cut.folded(node)
    if branches:
        below.append((prefix, None, _folded(branches, nodes)))
    return below[::-1]


def _folded(branches: int, nodes: int) -> str:
    return f"… {branches:,} more branch{'es' * (branches != 1)}" + (
        f", {nodes:,} nodes" if nodes > branches else ""
    )


def _cut_here(cut: Cut, node: Node) -> str:
    hidden = node.below if not cut.children(node) else 0
    return f"  … {hidden:,} nodes below" if hidden else ""
