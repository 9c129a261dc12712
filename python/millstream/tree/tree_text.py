"""A tree as text: the visible nodes, and their lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from millstream._echo import escaped, quoted
from millstream.errors import InvalidType, InvalidValue
from millstream.tree.structure import Branch, Node, TreeStructure, amount

__all__ = ["Cut", "count", "text_of"]

#: The default limits of a drawing: about a screen of text.
_MOST_NODES = 48
_MOST_BRANCHES = 12


@dataclass(frozen=True)
class Cut:
    """The visible part of a tree: down to a depth, and for a split into many values the largest branches."""

    structure: TreeStructure
    max_depth: int
    max_branches: int = _MOST_BRANCHES

    @classmethod
    def of(cls, structure: TreeStructure, max_depth: int | None, max_branches: int | None = None) -> Cut:
        """The requested cut, or one that fits on a screen."""
        widest = _MOST_BRANCHES if max_branches is None else count("max_branches", max_branches, 2)
        if max_depth is not None:
            return cls(structure, count("max_depth", max_depth, 0), widest)
        shown, level, depth = 1, [structure.root], 0
        while True:
            cut = cls(structure, depth + 1, widest)
            level = [child for node in level for _, child in cut.children(node)]
            shown += len(level)
            if not level or (shown > _MOST_NODES and depth):
                return cls(structure, depth, widest)
            depth += 1

    def children(self, node: Node) -> list[tuple[Branch, Node]]:
        """The visible branches of a node, in order."""
        if node.depth >= self.max_depth:
            return []
        pairs = [(branch, self.structure.nodes[branch.child]) for branch in node.branches]
        if len(pairs) <= self.max_branches:
            return pairs
        heavy = sorted(range(len(pairs)), key=lambda index: -pairs[index][1].weight)[: self.max_branches - 1]
        return [pairs[index] for index in sorted(heavy)]

    def folded(self, node: Node) -> tuple[int, int]:
        """The number of hidden branches of a partly visible node, and of their nodes."""
        shown = self.children(node)
        if not shown:
            return 0, 0
        return len(node.branches) - len(shown), node.below - sum(child.below + 1 for _, child in shown)

    @property
    def hidden(self) -> int:
        """Number of hidden nodes."""
        shown, level = 0, [self.structure.root]
        while level:
            shown += len(level)
            level = [child for node in level for _, child in self.children(node)]
        return len(self.structure.nodes) - shown

    def head(self) -> str:
        """The tree in one line."""
        structure = self.structure
        leaves = sum(1 for _ in structure.leaves())
        return (
            f"{structure.title}: {structure.learned:,} example{'s' * (structure.learned != 1)} learned, "
            f"{leaves:,} {'leaf' if leaves == 1 else 'leaves'}, depth {structure.depth}"
        )

    def foot(self) -> str:
        """The number of hidden nodes, in words."""
        hidden = self.hidden
        if not hidden:
            return ""
        return f"{hidden:,} of {len(self.structure.nodes):,} nodes not shown; max_depth and max_branches show more"


def count(name: str, value: object, least: int) -> int:
    """Check an integer argument."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise InvalidType(f"draw: {name} must be an integer, got {quoted(value)}")
    number = int(value)
    if number < least:
        raise InvalidValue(f"draw: {name} must be at least {least}, got {number}")
    return number


def text_of(cut: Cut) -> str:
    """The tree as lines, one per branch."""
    # A name may hold line breaks, which must not forge nodes.
    return "\n".join(map(escaped, _lines(cut)))


def _lines(cut: Cut) -> Iterator[str]:
    structure = cut.structure
    yield cut.head()
    root = structure.root
    yield f"{amount(root.weight)}: {structure.prediction_text(root)}{_cut_here(cut, root)}"
    waiting = _below(cut, structure.root, "")
    while waiting:
        prefix, branch, node = waiting.pop()
        if isinstance(node, str):
            yield prefix + "└─ " + node
            continue
        last = not waiting or len(waiting[-1][0]) < len(prefix)
        missing = " or missing" if branch is not None and branch.missing else ""
        words = f"{structure.prediction_text(node)}{structure.state(node)}{_cut_here(cut, node)}"
        yield f"{prefix}{'└─' if last else '├─'} {branch}{missing}: {amount(node.weight)}, {words}"
        waiting += _below(cut, node, prefix + ("   " if last else "│  "))
    if foot := cut.foot():
        yield foot


def _below(cut: Cut, node: Node, prefix: str) -> list[tuple[str, Branch | None, Node | str]]:
    """The branches of a node, in reverse order."""
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
