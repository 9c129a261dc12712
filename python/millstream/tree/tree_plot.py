"""A tree as a picture: self-contained SVG.

The root is at the left and every leaf has its own line, so that a large tree grows down the page, where one
scrolls, and text stays horizontal. The width of a branch is its fraction of the examples. Colours are derived from
those of the page, so that the picture is readable in light and dark themes.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from html import escape
from os import PathLike
from pathlib import Path

from millstream._echo import visible
from millstream._files import write_whole
from millstream.errors import InvalidValue
from millstream.evaluate.plot import COLOURS
from millstream.tree.structure import Branch, Node, TreeStructure, amount, class_name, feature_name
from millstream.tree.tree_outline import outline, zoomed
from millstream.tree.tree_text import Cut, text_of

__all__ = ["Drawing"]

_SUFFIXES = (".svg", ".html", ".txt")
_HEIGHT, _ROW, _TOP, _EDGE = 52.0, 66.0, 66.0, 12.0
_BEND = 34.0
#: A wider picture, in pixels, has a choice of sizes.
_WIDE = 900.0
_LEAST_WIDTH, _MOST_WIDTH = 118.0, 240.0
#: Colours of the classes; black is reserved for text.
_COLOURS = COLOURS[:6]
_REST = "#8a8f98"
_FONT = "system-ui,-apple-system,'Segoe UI',Roboto,'Liberation Sans',sans-serif"
_STYLE = f"""
.ms-tree text{{font:12px {_FONT};fill:currentColor}}
.ms-tree .b{{font-size:13px;font-weight:600}}
.ms-tree .s{{font-size:11.5px;opacity:.72}}
.ms-tree .card{{fill:#80808012;stroke:#80808073}}
.ms-tree .gap{{fill:#8c8c8c}}
.ms-tree .way{{fill:none;stroke:#80808080}}
.ms-tree .cut{{fill:none;stroke:#808080a0;stroke-dasharray:2 4;stroke-linecap:round;stroke-width:2}}
"""


class Drawing:
    """A drawn tree: `svg` and `text`. Notebooks show the picture, `print` the text, `save` writes either."""

    def __init__(
        self, structure: TreeStructure, max_depth: int | None = None, max_branches: int | None = None
    ) -> None:
        self._cut = Cut.of(structure, max_depth, max_branches)

    @property
    def text(self) -> str:
        """The tree as text, one line per node."""
        return text_of(self._cut)

    @property
    def svg(self) -> str:
        """The tree as a picture."""
        return visible(_Picture(self._cut).svg())

    def save(self, path: str | PathLike[str]) -> None:
        """Write the drawing to a file, by suffix: .svg, .html or .txt."""
        suffix = Path(path).suffix.lower()
        if suffix not in _SUFFIXES:
            raise InvalidValue(f"a tree is saved as {', '.join(_SUFFIXES)}, got {str(path)!r}")
        text = self.text + "\n" if suffix == ".txt" else self.svg
        if suffix == ".html":
            style = "body{margin:1.5rem;color-scheme:light dark;background:Canvas;color:CanvasText}"
            # Limited in height so that the horizontal scroll bar is visible; paper does not scroll.
            style += "@media screen{body>div,.ms-zoom .view{max-height:calc(100vh - 3rem)}}"
            style += "@media print{svg{max-width:100%;height:auto}}"
            title = visible(escape(self._cut.head()))
            text = (
                f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
                '<meta name="viewport" content="width=device-width, initial-scale=1">'
                f"<style>{style}</style></head><body>{self.fragment()}</body></html>\n"
            )
        write_whole(path, text.encode())

    def fragment(self) -> str:
        """The picture as an HTML fragment, with a scroll bar if it is wider than the page.

        A wide picture has a choice of sizes. If nodes are hidden, an outline of all nodes follows, whose branches
        collapse.
        """
        picture = _Picture(self._cut)
        svg, width = visible(picture.svg()), picture.width
        shown = zoomed(svg, width) if width > _WIDE else f'<div style="overflow-x:auto;max-width:100%">{svg}</div>'
        if not self._cut.hidden:
            return shown
        nodes = f"all {len(self._cut.structure.nodes):,} nodes"
        return f"{shown}<details><summary>{nodes}</summary>{outline(self._cut.structure)}</details>"

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return self.fragment()

    def _repr_svg_(self) -> str:
        return self.svg


@dataclass(slots=True)
class _Placed:
    """A card of the picture, or the note about hidden branches."""

    column: int
    row: float = 0.0
    branch: Branch | None = None
    node: Node | None = None
    parent: _Placed | None = None
    words: str = ""


class _Picture:
    def __init__(self, cut: Cut) -> None:
        self.cut = cut
        #: In pixels, once it is drawn.
        self.width = 0.0
        self.structure = cut.structure
        leaves = [leaf.estimate for leaf in self.structure.leaves()]
        means = [leaf.mean for leaf in leaves if leaf.mean is not None and leaf.weight > 0.0]
        self.range = min(means, default=0.0), max(means, default=0.0)
        self.cards = self._placed()
        depth = max(card.column for card in self.cards) + 1
        self.widths = [_LEAST_WIDTH] * depth
        self.gaps = [0.0] * depth
        for card in self.cards:
            if card.node is None:
                continue
            widest = max(_width(self._title(card.node), 13.8), _width(self._subtitle(card.node), 11.5)) + 26.0
            self.widths[card.column] = min(max(self.widths[card.column], widest), _MOST_WIDTH)
            if card.branch is not None:
                label = _width(card.branch.label, 12.0)
                self.gaps[card.column] = min(max(self.gaps[card.column], label + 18.0), 160.0)
        self.lefts = [_EDGE]
        for column in range(1, depth):
            self.lefts.append(self.lefts[-1] + self.widths[column - 1] + _BEND + self.gaps[column])

    def _placed(self) -> list[_Placed]:
        """Cards, parents before children: the last ones have a row each, their parents are centred."""
        root = _Placed(0, node=self.structure.root)
        cards, children, waiting, rows = [], {}, [root], 0
        while waiting:
            card = waiting.pop()
            cards.append(card)
            if card.node is None:
                card.row, rows = rows, rows + 1
                continue
            below = [
                _Placed(card.column + 1, branch=branch, node=node, parent=card)
                for branch, node in self.cut.children(card.node)
            ]
            branches, nodes = self.cut.folded(card.node)
            if branches:
                words = f"{branches:,} more branch{'es' * (branches != 1)}, {nodes:,} node{'s' * (nodes != 1)}"
                below.append(_Placed(card.column + 1, parent=card, words=words))
            children[id(card)] = below
            if not below:
                card.row, rows = rows, rows + 1
            waiting += reversed(below)
        for card in reversed(cards):
            if under := children.get(id(card)):
                card.row = (under[0].row + under[-1].row) / 2.0
        return cards

    def _title(self, node: Node) -> str:
        return f"{feature_name(node.feature)} ?" if not node.leaf else self.structure.prediction_text(node)

    def _subtitle(self, node: Node) -> str:
        weight = amount(node.weight)
        return (
            f"{weight} examples{self.structure.state(node)}"
            if node.leaf
            else f"{weight} · {self.structure.prediction_text(node)}"
        )

    def svg(self) -> str:
        """The complete picture."""
        rows = max(card.row for card in self.cards)
        foot = self.cut.foot()
        cut = any(self._hidden(card) for card in self.cards)
        words = max((_width(card.words, 12.0) - self.widths[card.column] for card in self.cards), default=0.0)
        width = self.lefts[-1] + self.widths[-1] + max(86.0 if cut else _EDGE, words + 2 * _EDGE)
        legend, across = self._legend()
        width = max(width, across, _width(self.cut.head(), 13.8) + 2 * _EDGE, _width(foot, 11.5) + 2 * _EDGE)
        self.width = width
        height = _TOP + rows * _ROW + _HEIGHT + (30.0 if foot else _EDGE)
        head = escape(self.cut.head())
        parts = [f'<text class="b" x="{_EDGE:g}" y="24">{head}</text>', legend]
        parts += [self._edge(card) for card in self.cards if card.parent is not None]
        parts += [self._card(card) for card in self.cards]
        if foot:
            parts.append(f'<text class="s" x="{_EDGE:g}" y="{height - 10:.0f}">{escape(foot)}</text>')
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="ms-tree" role="img" aria-label="{head}" '
            f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}">'
            f"<style>{_STYLE}</style>{''.join(parts)}</svg>"
        )

    def _legend(self) -> tuple[str, float]:
        """The colours of the classes, the mark of missing values, and the width of the legend."""
        codes = [code for code, count in enumerate(self.structure.root.counts) if count > 0.0]
        known = [(class_name(self.structure.label(code)), _colour(code)) for code in codes if code < len(_COLOURS)]
        if len(known) < len(codes):
            known.append((f"{len(codes) - len(known):,} more", _REST))
        parts, x = [], _EDGE
        for name, colour in known:
            text = _fit(name, 12.0, 140.0)
            parts.append(f'<rect x="{x:.0f}" y="37" width="11" height="11" rx="3" fill="{colour}"/>')
            parts.append(f'<text x="{x + 16:.0f}" y="47">{escape(text)}</text>')
            x += 34.0 + _width(text, 12.0)
        if len(self.cards) > 1:
            parts.append(f'<circle class="gap" cx="{x + 6:.0f}" cy="42.5" r="3.5"/>')
            parts.append(f'<text class="s" x="{x + 16:.0f}" y="47">missing values go here</text>')
            x += 180.0
        return "".join(parts), x

    def _hidden(self, card: _Placed) -> int:
        """Number of nodes below a card that are not drawn."""
        return card.node.below if card.node is not None and not self.cut.children(card.node) else 0

    def _place(self, card: _Placed) -> tuple[float, float, float]:
        return self.lefts[card.column], _TOP + card.row * _ROW, self.widths[card.column]

    def _edge(self, card: _Placed) -> str:
        """The edge to a card: a bend, then straight beneath its condition."""
        assert card.parent is not None
        x, y, _ = self._place(card)
        left, top, width = self._place(card.parent)
        x0, y0, y1 = left + width, top + _HEIGHT / 2.0, y + _HEIGHT / 2.0
        turn, middle = x0 + _BEND, x0 + _BEND / 2.0
        path = f"M{x0:.1f} {y0:.1f}C{middle:.1f} {y0:.1f} {middle:.1f} {y1:.1f} {turn:.1f} {y1:.1f}H{x:.1f}"
        if card.node is None or card.branch is None:
            return f'<path class="cut" d="{path}"/>'
        total = self.structure.root.weight
        thick = 1.2 + 6.0 * (card.node.weight / total if total > 0.0 else 0.0)
        label = escape(_fit(card.branch.label, 12.0, self.gaps[card.column] - 10.0))
        mark = f'<circle class="gap" cx="{x - 7:.1f}" cy="{y1:.1f}" r="3.5"/>' if card.branch.missing else ""
        return (
            f'<path class="way" stroke-width="{thick:.1f}" d="{path}"/>{mark}'
            f'<text text-anchor="end" x="{x - 9:.1f}" y="{y1 - 5.5 - thick / 2:.1f}">{label}</text>'
        )

    def _card(self, card: _Placed) -> str:
        x, y, width = self._place(card)
        if card.node is None:
            return f'<text class="s" x="{x + 4:.1f}" y="{y + _HEIGHT / 2 + 4:.1f}">{escape(card.words)}</text>'
        node = card.node
        report = [str(branch) for branch in self.structure.path(node)]
        report += [
            f"{amount(node.weight)} examples: {self.structure.prediction_text(node)}{self.structure.state(node)}",
            self.structure.why(node),
        ]
        parts = [
            f"<g><title>{escape(chr(10).join(line for line in report if line))}</title>",
            f'<rect class="card" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{_HEIGHT:g}" rx="7"/>',
        ]
        if node.leaf and (tint := self._tint(node)):
            colour, strength = tint
            parts.append(
                f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{_HEIGHT:g}" rx="7" '
                f'fill="{colour}" fill-opacity="{strength:.2f}"/>'
            )
        title = escape(_fit(self._title(node), 13.8, width - 22.0))
        subtitle = escape(_fit(self._subtitle(node), 11.5, width - 22.0))
        parts.append(f'<text class="b" x="{x + 11:.1f}" y="{y + 19:.1f}">{title}</text>')
        parts.append(f'<text class="s" x="{x + 11:.1f}" y="{y + 34.5:.1f}">{subtitle}</text>')
        parts += self._bar(node, x + 11.0, y + 41.0, width - 22.0)
        if hidden := self._hidden(card):
            middle = y + _HEIGHT / 2.0
            parts.append(f'<path class="cut" d="M{x + width + 4:.1f} {middle:.1f}h22"/>')
            parts.append(f'<text class="s" x="{x + width + 32:.1f}" y="{middle + 4:.1f}">+ {hidden:,}</text>')
        return "".join(parts) + "</g>"

    def _tint(self, node: Node) -> tuple[str, float] | None:
        """The colour of a leaf: stronger for a more certain prediction."""
        code = self.structure.code(node)
        if not self.structure.of_classes:
            return (_COLOURS[0], 0.02 + 0.24 * self._height(node)) if node.estimate.mean is not None else None
        return None if code is None else (_colour(code), 0.03 + 0.17 * self.structure.share(node, code))

    def _height(self, node: Node) -> float:
        """The position of a node's mean between the smallest and the largest of the leaves."""
        least, greatest = self.range
        mean = node.estimate.mean
        if mean is None or greatest == least:
            return 0.5
        return min(max((mean - least) / (greatest - least), 0.0), 1.0)

    def _bar(self, node: Node, x: float, y: float, width: float) -> list[str]:
        """The fractions of the classes, or the position of the mean."""
        bar = f'<rect y="{y:.1f}" height="5" rx="1.5" '
        if not self.structure.of_classes:
            length = width * self._height(node)
            parts = [f'{bar}x="{x:.1f}" width="{width:.1f}" fill="#80808033"/>']
            return [*parts, f'{bar}x="{x:.1f}" width="{length:.1f}" fill="{_COLOURS[0]}"/>']
        estimate = node.estimate
        if estimate.weight <= 0.0:
            return [f'{bar}x="{x:.1f}" width="{width:.1f}" fill="#80808033"/>']
        shares: dict[str, float] = {}
        for code, count in enumerate(estimate.counts):
            shares[_colour(code)] = shares.get(_colour(code), 0.0) + max(count, 0.0) / estimate.weight
        parts = []
        for colour, share in shares.items():
            if (length := share * width) >= 0.3:
                parts.append(f'{bar}x="{x:.1f}" width="{max(length - 0.8, 0.3):.1f}" fill="{colour}"/>')
            x += length
        return parts


def _colour(code: int) -> str:
    return _COLOURS[code] if code < len(_COLOURS) else _REST


def _width(text: str, size: float) -> float:
    """The approximate width of a string."""
    return size * sum(1.0 if unicodedata.east_asian_width(letter) in "WF" else _part(letter) for letter in text)


def _part(letter: str) -> float:
    return 0.36 if letter in " .,:;|'()ijl" else 0.95 if letter in "MWmw%@" else 0.7 if letter.isupper() else 0.62


def _fit(text: str, size: float, width: float) -> str:
    """A string shortened to a width."""
    if _width(text, size) <= width + 1e-9:
        return text
    while text and _width(text + "…", size) > width:
        text = text[:-1]
    return text.rstrip() + "…"
