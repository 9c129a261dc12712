"""A large tree in HTML: the picture with a choice of sizes, and all nodes as an outline whose branches collapse.

Neither needs scripts: the sizes are radio buttons, the branches are `<details>`.
"""

from __future__ import annotations

import secrets
from html import escape

from millstream._echo import visible
from millstream.tree.structure import Branch, Node, TreeStructure, amount

__all__ = ["outline", "zoomed"]

#: Maximum number of nodes in an outline, the heaviest; and the depth to which it is open at first.
_MOST_NODES, _OPEN = 1000, 2
#: Sizes of the picture: a fraction of its width in pixels, or the width of the page.
_SIZES = (("fit", None), ("50 %", 0.5), ("100 %", 1.0), ("150 %", 1.5))
_STYLE = """
.ms-zoom label{font:12px system-ui,sans-serif;margin:0 .9em 0 .2em;cursor:pointer}
.ms-zoom .view{overflow:auto;max-width:100%;margin-top:4px}
.ms-outline{font:13px/1.5 system-ui,sans-serif}
.ms-outline div,.ms-outline details{margin-left:1.1em}
.ms-outline summary{cursor:pointer;margin-left:-1.1em}
.ms-outline small{opacity:.72}
"""


def zoomed(svg: str, width: float, size: str = "100 %") -> str:
    """A picture with a choice of sizes; `width` is its own in pixels."""
    group = f"z{secrets.token_hex(4)}"
    buttons, rules = [], []
    for place, (name, scale) in enumerate(_SIZES, 1):
        checked = " checked" if name == size else ""
        button = f'<input type="radio" name="{group}" id="{group}{place}"{checked}>'
        buttons.append(f'{button}<label for="{group}{place}">{name}</label>')
        wide = "100%" if scale is None else f"{width * scale:.0f}px"
        rules.append(
            f"#{group} > input:nth-of-type({place}):checked ~ .view svg{{width:{wide};height:auto;max-width:none}}"
        )
    style = f"<style>{_STYLE}{''.join(rules)}</style>"
    return f'<div class="ms-zoom" id="{group}">{style}{"".join(buttons)}<div class="view">{svg}</div></div>'


def outline(structure: TreeStructure) -> str:
    """All nodes, up to 1,000, as nested lists; those near the root are open."""
    shown = _heaviest(structure)
    parts = [f'<div class="ms-outline"><style>{_STYLE}</style>']
    # Closing tags are strings on the stack, so that a deep tree needs no recursion.
    waiting: list[str | tuple[Branch | None, Node]] = [(None, structure.root)]
    while waiting:
        entry = waiting.pop()
        if isinstance(entry, str):
            parts.append(entry)
            continue
        branch, node = entry
        condition = "all examples" if branch is None else f"{branch}{' or missing' if branch.missing else ''}"
        words = (
            f"{escape(condition)} <small>{amount(node.weight)} · "
            f"{escape(structure.prediction_text(node) + structure.state(node))}</small>"
        )
        inside = [(each, structure.nodes[each.child]) for each in node.branches if each.child in shown]
        if not inside:
            more = f" <small>… {node.below:,} nodes below</small>" if node.below else ""
            parts.append(f"<div>{words}{more}</div>")
            continue
        parts.append(f"<details{' open' * (node.depth < _OPEN)}><summary>{words}</summary>")
        hidden = node.below - sum(child.below + 1 for _, child in inside)
        waiting.append(f"<div><small>… {hidden:,} more nodes</small></div></details>" if hidden else "</details>")
        waiting += reversed(inside)
    return visible("".join(parts) + "</div>")


def _heaviest(structure: TreeStructure) -> set[int]:
    """The nodes that have received the most examples; with a node always its parent."""
    if len(structure.nodes) <= _MOST_NODES:
        return set(structure.nodes)
    # A parent has received at least as much as each child, and comes first among equals.
    order = sorted(structure.nodes.values(), key=lambda node: (-node.weight, node.depth, node.index))
    chosen: set[int] = set()
    for node in order:
        if len(chosen) < _MOST_NODES and (node.parent is None or node.parent in chosen):
            chosen.add(node.index)
    return chosen
