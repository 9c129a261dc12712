"""The style of the report. Every rule starts with `.ms`, so that it does not affect a surrounding notebook."""

from __future__ import annotations

from collections.abc import Sequence

from millstream.evaluate.plot import COLOURS

__all__ = ["frame_style", "style"]

#: Brighter forms of `plot.COLOURS`, for dark pages.
_BRIGHT = ("#4DB3F0", "#FF8A4C", "#2FD3A5", "#F0A8D0", "#FFC043", "#9AD7FA", "#B5B5B5", "#FFFFFF")

_LIGHT = (
    "--ink: #17191c; --soft: #59616d; --line: #e2e5ea; --page: #f5f6f8; --card: #ffffff; --mark: #b42318;"
    " --accent: #0b6aa8; --heat: 0,114,178; --minus: 213,94,0;"
)
_DARK = (
    "--ink: #e9ebee; --soft: #a3adba; --line: #343a42; --page: #111316; --card: #1a1d21; --mark: #ff8a7a;"
    " --accent: #6cc1f5; --heat: 77,179,240; --minus: 255,138,76;"
)

_RULES = """
.ms { color: var(--ink); background: var(--page); max-width: 66rem; margin: 0 auto; padding: 1rem; }
.ms { box-sizing: border-box; border-radius: 12px; text-align: left; overflow-wrap: anywhere; }
.ms { font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif; }
.ms *, .ms *::before { box-sizing: border-box; }
.ms h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 .2rem; font-weight: 650; letter-spacing: -.01em; }
.ms h2 { font-size: 1.02rem; margin: 0 0 .7rem; font-weight: 650; color: var(--ink); }
.ms h3 { font-size: .9rem; margin: 0 0 .4rem; font-weight: 600; color: var(--ink); }
.ms p { margin: 0 0 .7rem; }
.ms section > p:last-child { margin-bottom: 0; }
.ms .sub, .ms .note { color: var(--soft); }
.ms .sub { margin: 0 0 1rem; }
.ms .note { font-size: .86rem; margin: .6rem 0 0; }
.ms .warning { color: var(--mark); font-weight: 600; margin: 0 0 .9rem; }
.ms section, .ms .tile { background: var(--card); border: 1px solid var(--line); border-radius: 10px; }
.ms section { padding: 1.05rem 1.15rem; margin: 0 0 .9rem; min-width: 0; }
.ms .tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(7.6rem, 1fr)); gap: .7rem; }
.ms .tiles { margin: 0 0 .9rem; padding: 0; }
.ms .tile { padding: .65rem .9rem .6rem; margin: 0; }
.ms .tile .name { color: var(--soft); font-size: .8rem; margin: 0; font-weight: 500; }
.ms .tile .value { margin: 0; font-size: 1.32rem; line-height: 1.3; font-weight: 650; letter-spacing: -.01em; }
.ms .tile .value, .ms table { font-variant-numeric: tabular-nums; }
.ms .tile .small { font-size: .8rem; font-weight: 400; color: var(--soft); letter-spacing: 0; display: block; }
.ms .pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); gap: 0 .9rem; }
.ms .pair { align-items: start; }
.ms .pair > div { min-width: 0; }
.ms .scroll { overflow-x: auto; }
.ms .scroll:focus-visible { outline: 2px solid var(--accent); }
.ms table { border-collapse: collapse; margin: 0; color: inherit; background: none; font-size: .93rem; }
.ms tr { background: none; }
.ms th, .ms td { text-align: right; padding: .32rem .7rem; white-space: nowrap; background: none; border: 0; }
.ms th, .ms td { border-bottom: 1px solid var(--line); color: var(--ink); }
.ms thead th { white-space: normal; overflow-wrap: normal; vertical-align: bottom; }
.ms thead th { color: var(--soft); font-weight: 500; font-size: .84rem; }
.ms tbody th { font-weight: 500; }
.ms tbody tr:last-child > * { border-bottom: 0; }
.ms tr > :first-child { text-align: left; padding-left: 0; }
.ms tr > :last-child { padding-right: 0; }
.ms .wide { width: 100%; }
.ms .words tr > :last-child { text-align: left; white-space: normal; width: 100%; }
.ms .best > * { font-weight: 700; }
.ms .heat td { padding: .32rem .55rem; text-align: center; border: 2px solid var(--card); border-radius: 5px; }
.ms .heat th { border: 0; padding: .25rem .5rem; }
.ms .heat thead th { text-align: center; }
.ms .heat thead th:first-child { text-align: left; white-space: normal; min-width: 4.8rem; }
.ms .heat .right { outline: 1px solid rgba(var(--heat), .5); outline-offset: -3px; font-weight: 600; }
.ms .bars { width: 100%; table-layout: fixed; }
.ms .bars th { width: 34%; overflow: hidden; text-overflow: ellipsis; }
.ms .bars th, .ms .bars td { padding-top: .14rem; padding-bottom: .14rem; border-bottom: 0; }
.ms .bars td:last-child { width: 5.6rem; }
.ms .bar { display: block; position: relative; height: .85rem; background: rgba(128,128,128,.10); }
.ms .bar { border-radius: 2px; }
.ms .bar i { position: absolute; top: 0; bottom: 0; border-radius: 2px; background: rgb(var(--heat)); }
.ms .bar i.minus { background: rgb(var(--minus)); }
.ms svg { display: block; width: 100%; height: auto; overflow: visible; }
.ms svg.square { max-width: 27rem; margin: 0 auto; }
.ms svg text { fill: var(--soft); font: 12px system-ui, "Liberation Sans", sans-serif; }
.ms .plot { position: relative; height: 17rem; margin: .5rem .9rem 1.9rem 3.4rem; }
.ms .plot.middle { height: 11rem; }
.ms .plot.low { height: 8rem; }
.ms .plot svg { position: absolute; inset: 0; width: 100%; height: 100%; overflow: hidden; }
.ms .plot span { position: absolute; color: var(--soft); font-size: 12px; line-height: 1.2; white-space: nowrap; }
.ms .plot span { font-variant-numeric: tabular-nums; }
.ms .plot .y { right: calc(100% + .5rem); transform: translateY(-50%); }
.ms .plot .x { top: calc(100% + .4rem); transform: translateX(-50%); }
.ms .plot .x.end { transform: none; }
.ms svg path, .ms svg polyline, .ms svg line { vector-effect: non-scaling-stroke; fill: none; }
.ms .grid { stroke: var(--line); stroke-width: 1; }
.ms .axis { stroke: var(--soft); stroke-width: 1; stroke-dasharray: 3 4; opacity: .8; }
.ms .drift { stroke: var(--mark); stroke-width: 1.2; stroke-dasharray: 2 3; opacity: .8; }
.ms .drift.solid { stroke-dasharray: none; opacity: .9; }
.ms svg .band { fill: var(--mark); stroke: none; }
.ms .level { stroke: var(--soft); stroke-width: 1.3; stroke-dasharray: 1 4; stroke-linecap: round; }
.ms .edge { stroke-width: 1.1; opacity: .6; }
.ms .key.level { border-top: 2px dotted var(--soft); }
.ms .grid-of-charts { display: grid; gap: 1rem 1.4rem; }
.ms .grid-of-charts { grid-template-columns: repeat(auto-fit, minmax(min(100%, 17rem), 1fr)); }
.ms .grid-of-charts > div { min-width: 0; }
.ms .grid-of-charts h3 span { color: var(--soft); font-weight: 400; margin-left: .3rem; }
.ms .grid-of-charts h3 .shifted { color: var(--mark); font-weight: 600; }
.ms .flag { stroke-width: 2; }
.ms .hits i { position: absolute; top: 0; bottom: 0; }
.ms .hits i:hover { background: rgba(128,128,128,.14); }
.ms .hits i:hover::after { content: attr(data-v); white-space: pre; position: absolute; top: .3rem; }
.ms .hits i:hover::after { left: calc(100% + .3rem); z-index: 2; width: max-content; font-style: normal; }
.ms .hits i:hover::after { padding: .35rem .6rem; font: 12px/1.45 system-ui, sans-serif; color: var(--ink); }
.ms .hits i:hover::after { background: var(--card); border: 1px solid var(--line); border-radius: 6px; }
.ms .hits i:hover::after { box-shadow: 0 2px 8px rgba(0,0,0,.18); pointer-events: none; text-align: left; }
.ms .hits i.r:hover::after { left: auto; right: calc(100% + .3rem); }
.ms .rolling { stroke-width: 2; stroke-linejoin: round; }
.ms .whole { stroke-width: 1.4; stroke-dasharray: 5 4; opacity: .85; }
.ms .dots { stroke-width: 4; stroke-linecap: round; opacity: .45; }
.ms svg .area { stroke: none; fill: rgba(var(--heat), .16); }
.ms svg .column { fill: rgba(var(--heat), .35); }
.ms svg .point { fill: rgb(var(--heat)); stroke: var(--card); stroke-width: 1.5; }
.ms .legend { display: flex; flex-wrap: wrap; gap: .15rem 1.2rem; margin: .6rem 0 0; }
.ms .legend { color: var(--soft); font-size: .86rem; }
.ms .key { display: inline-block; width: 1.5rem; height: 0; vertical-align: middle; margin-right: .4rem; }
.ms .key { border-top: 3px solid; }
.ms .key.thin { border-top-width: 2px; border-top-style: dashed; }
.ms .key.mark { border-top: 2px dotted var(--mark); }
.ms .tabs { border: 0; margin: 0; padding: 0; min-width: 0; position: relative; }
.ms .tabs > input { position: absolute; opacity: 0; width: 1px; height: 1px; margin: 0; }
.ms .tabs > label { display: inline-block; padding: .2rem .75rem; margin: 0 .25rem .6rem 0; border-radius: 99px; }
.ms .tabs > label { border: 1px solid var(--line); color: var(--soft); cursor: pointer; font-size: .88rem; }
.ms .tabs > label { font-weight: 400; line-height: 1.5; }
.ms .tabs > input:checked + label { background: var(--accent); border-color: var(--accent); color: var(--card); }
.ms .tabs > input:focus-visible + label { outline: 2px solid var(--accent); outline-offset: 2px; }
.ms .panels > div { display: none; }
.ms .hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
.ms pre { margin: 0 0 .8rem; padding: .7rem .85rem; white-space: pre-wrap; color: var(--ink); border: 0; }
.ms pre { background: rgba(128,128,128,.10); border-radius: 7px; overflow-wrap: anywhere; }
.ms pre { font: 13px/1.5 ui-monospace, Menlo, Consolas, "Liberation Mono", monospace; }
.ms details > summary { cursor: pointer; color: var(--soft); font-size: .88rem; margin: .6rem 0 0; }
.ms details[open] > summary { margin-bottom: .6rem; }
.ms .model > summary { color: var(--ink); font-size: 1.02rem; font-weight: 650; margin: 0 0 .9rem; }
.ms .model > summary { padding: .75rem 1.1rem; border: 1px solid var(--line); border-radius: 10px; }
.ms .model > summary { background: var(--card); }
.ms .model > summary span { color: var(--soft); font-weight: 400; font-size: .9rem; margin-left: .5rem; }
.ms summary:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.ms footer { color: var(--soft); font-size: .84rem; padding: .2rem .2rem 0; }
@media (max-width: 34rem) {
  .ms { padding: .7rem; font-size: 14px; }
  .ms section { padding: .8rem .8rem .85rem; }
  .ms .tiles { grid-template-columns: repeat(2, minmax(0, 1fr)); gap: .5rem; }
  .ms .tile .value { font-size: 1.12rem; }
  .ms th, .ms td { padding: .3rem .45rem; }
  .ms .plot { height: 13rem; margin-left: 2.9rem; margin-right: .6rem; }
  .ms .plot.middle { height: 9rem; }
  .ms .plot.low { height: 7rem; }
  .ms .plot span { font-size: 11px; }
  .ms svg.square text { font-size: 14px; }
  .ms .stacked thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  .ms .stacked, .ms .stacked tbody { display: block; }
  .ms .stacked tr { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); padding: .35rem 0; }
  .ms .stacked tr { border-bottom: 1px solid var(--line); }
  .ms .stacked tr:last-child { border-bottom: 0; }
  .ms .stacked th, .ms .stacked td { border: 0; padding: .05rem .3rem .05rem 0; white-space: normal; }
  .ms .stacked th { grid-column: 1 / -1; }
  .ms .stacked td { overflow-wrap: normal; text-align: left; }
  .ms .stacked td { display: flex; justify-content: space-between; gap: .4rem; padding-right: .6rem; }
  .ms .stacked td::before { content: attr(data-h); color: var(--soft); font-weight: 400; }
  .ms .stacked td:first-of-type { grid-column: 1 / -1; }
  .ms .bars th { width: 42%; }
  .ms .bars td:last-child { width: 4.9rem; }
}
"""

#: In print, colours are light and all panels are shown.
_PRINT = """
@media print {
  .ms { %s }
  .ms { max-width: none; padding: 0; font-size: 12px; background: none; -webkit-print-color-adjust: exact; }
  .ms { print-color-adjust: exact; }
  .ms section, .ms .tile { break-inside: avoid; border-color: #cfd4da; }
  .ms section:has(.tabs) { break-inside: auto; }
  .ms .tabs > input, .ms .tabs > label { display: none; }
  .ms .panels > div { display: block !important; break-inside: avoid; margin-bottom: 1rem; }
  .ms .panels h3.hidden { position: static; width: auto; height: auto; clip-path: none; }
  .ms .scroll { overflow: visible; }
  .ms th, .ms td { padding: .2rem .45rem; }
  .ms .wide { font-size: 10.5px; }
  .ms .wide th, .ms .wide td { padding: .15rem .3rem; }
  .ms .wide thead th { font-size: 9.5px; }
  .ms .wide tbody th { white-space: normal; min-width: 10.5em; }
  .ms .heat { font-size: 10.5px; }
  .ms .heat td, .ms .heat th { padding: .15rem .3rem; }
  .ms details:not([open]) > summary { display: none; }
  .ms .model:not([open]) > summary { display: block; }
  .ms .model::details-content { content-visibility: visible; }
  .ms .plot { height: 44mm; }
  .ms .plot.middle, .ms .plot.low { height: 34mm; }
  .ms svg.square { max-width: 80mm; }
  .ms .pair { grid-template-columns: 1fr 1fr; }
  .ms .tiles { grid-template-columns: repeat(4, 1fr); }
}
"""


def _colours(colours: Sequence[str]) -> str:
    return " ".join(
        f".ms .c{place} {{ stroke: {colour}; border-color: {colour}; }}" for place, colour in enumerate(colours)
    )


def style(panels: int) -> str:
    """The style of a fragment with at most this many panels."""
    light = _colours((*COLOURS[:-1], "#444444"))
    chosen = ", ".join(
        f".ms .tabs > input:nth-of-type({place}):checked ~ .panels > div:nth-child({place})"
        for place in range(1, panels + 1)
    )
    shown = f"{chosen} {{ display: block; }}\n" if chosen else ""
    dark = f"@media screen and (prefers-color-scheme: dark) {{ .ms {{ {_DARK} }} {_colours(_BRIGHT)} }}\n"
    return f".ms {{ {_LIGHT} }}\n{_RULES}{light}\n{shown}{dark}{_PRINT % _LIGHT}"


def frame_style() -> str:
    """The style of the page around the fragment."""
    return (
        "body { margin: 0; background: #f5f6f8; }\n"
        "@media screen and (prefers-color-scheme: dark) { body { background: #111316; } }\n"
        "@media print { body { background: none; } @page { size: A4; margin: 14mm; } }\n"
    )
