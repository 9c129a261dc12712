"""The results as Markdown: for a terminal, and for benchmarks/RESULTS.md and PARTS.md."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from benchmarks import goals, peers
from benchmarks.goals import table
from benchmarks.measure import Result
from benchmarks.quality import Quality, Scales
from benchmarks.readers import GOAL, Waits
from benchmarks.resources import FilePeaks, LongRun

__all__ = [
    "PEERS",
    "detectors_table",
    "every_quality_table",
    "generators_table",
    "goals_table",
    "learners_table",
    "machine",
    "page",
    "parts_page",
    "quality_table",
    "scales_table",
    "sides_table",
    "statistics_table",
]


def rate(number: float) -> str:
    """A rate with three significant digits."""
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{number / size:.3g} {unit}"
    return f"{number:.3g}"


def size(number: int | None) -> str:
    """A number of bytes in kB or MB."""
    if number is None:
        return "–"
    return f"{number / 1e6:.1f} MB" if number >= 1e6 else f"{number / 1e3:.1f} kB"


def goals_table(
    results: Sequence[Result], runs: Sequence[LongRun], seconds: float | None, peaks: FilePeaks | None = None
) -> str:
    """Each goal with the measured value."""
    rows = []
    for result in results:
        for side, goal in result.comparison.goals.items():
            reached = result.ratio(side)
            rows.append(
                [result.comparison.title, side, f"{reached:.3g} ×", f"{goal:.3g} ×", _met(reached >= goal)]
            )
    for run in runs:
        millions = f"{run.rows / 1e6:.3g} million rows"
        same = run.memory[0] == run.memory[1]
        reached_words = f"process {run.growth / 1e6:+.2f} MB, model {run.memory[1] - run.memory[0]:+d} bytes"
        rows.append(
            [f"{run.model}: memory from a tenth to the whole of {millions}", "–", reached_words, "flat",
             _met(same and run.growth < 2e6)]
        )  # fmt: skip
    if peaks is not None:
        (few, many), (before, after) = peaks.sizes, peaks.peaks
        rows.append(
            [f"CSV of {size(few)} and of {size(many)} to a model: peak memory", "–",
             f"{size(before)} and {size(after)}", "the same", _met(peaks.growth < 0.05 * many)]
        )  # fmt: skip
    if seconds is not None:
        rows.append(
            ["`import millstream` over `import numpy`", "–", f"{seconds:.3f} s", "0.15 s", _met(seconds < 0.15)]
        )
    return table(["work", "against", "reached", "goal", "met"], rows)


def _met(met: bool) -> str:
    return "yes" if met else "**no**"


def sides_table(results: Sequence[Result]) -> str:
    """All libraries of all comparisons."""
    rows = []
    for result in results:
        for side in result.comparison.sides:
            outcome = result.outcomes[side.name]
            ours = side is result.comparison.sides[0]
            rows.append(
                [
                    result.comparison.title if ours else "",
                    side.name,
                    f"{side.rows:,}",
                    rate(result.rate(side.name)),
                    "" if ours else f"{result.ratio(side.name):.3g} ×",
                    _quality(result, side.name),
                    size(outcome.memory),
                ]
            )
    head = ["work", "library", "rows", "examples/s", "speed-up", "quality", "model"]
    return table(head, rows)


def learners_table(results: Sequence[Result]) -> str:
    """A row for each learner."""
    rows = []
    for result in results:
        ours, *others = result.comparison.sides
        outcome = result.outcomes[ours.name]
        row = [
            f"`{result.comparison.title}`",
            rate(result.rate(ours.name)),
            _quality(result, ours.name),
            size(outcome.memory),
        ]
        if others:
            theirs = others[0].name
            row += [rate(result.rate(theirs)), _quality(result, theirs), f"{result.ratio(theirs):.3g} ×"]
        else:
            row += ["–", "–", "–"]
        rows.append(row)
    return table(["learner", "examples/s", "quality", "model", "River", "River quality", "speed-up"], rows)


def samplers_table(results: Sequence[Result]) -> str:
    """A row for each sampler."""
    rows = []
    for result in results:
        many, one, *_ = result.comparison.sides
        peers = [
            rate(result.rate(peer)) if peer in result.rates else "–" for peer in ("DataSketches", "plain Python")
        ]
        memory = size(result.outcomes[many.name].memory)
        rates = [rate(result.rate(many.name)), rate(result.rate(one.name))]
        rows.append([f"`{result.comparison.title}`", *rates, memory, *peers])
    return table(["sampler", "learn_many", "learn_one", "memory", "DataSketches", "plain Python"], rows)


def sketches_table(results: Sequence[Result]) -> str:
    """A row for each sketch."""
    rows = []
    for result in results:
        many, one, *_ = result.comparison.sides
        rates = [rate(result.rate(many.name)), rate(result.rate(one.name))]
        theirs = rate(result.rate("DataSketches")) if "DataSketches" in result.rates else "–"
        rows.append([f"`{result.comparison.title}`", *rates, size(result.outcomes[many.name].memory), theirs])
    return table(["sketch", "update_many", "update", "memory", "DataSketches"], rows)


def statistics_table(results: Sequence[Result]) -> str:
    """A row for each statistic or covariance estimator."""
    rows = []
    for result in results:
        many, one, *_ = result.comparison.sides
        row = [f"`{result.comparison.title}`", rate(result.rate(many.name)), rate(result.rate(one.name))]
        row.append(size(result.outcomes[many.name].memory))
        if "River" in result.rates:
            ratio = result.ratio("River")
            row += [rate(result.rate("River")), f"{ratio:.3g} ×", f"{ratio / result.ratio('millstream'):.3g} ×"]
        else:
            row += ["–", "–", "–"]
        rows.append(row)
    head = ["statistic", "update_many", "update", "memory", "River", "speed-up, update_many", "speed-up, update"]
    return table(head, rows)


def generators_table(results: Sequence[Result]) -> str:
    """A row for each generator."""
    rows = []
    for result in results:
        row = [f"`{result.comparison.title}`", rate(result.rate("millstream"))]
        for peer in ("MOA", "River"):
            there = peer in result.rates
            row += [rate(result.rate(peer)), f"{result.ratio(peer):.3g} ×"] if there else ["–", "–"]
        rows.append(row)
    return table(["generator", "examples/s", "MOA", "speed-up", "River", "speed-up"], rows)


def detectors_table(results: Sequence[Result]) -> str:
    """A row for each drift detector."""
    rows = []
    for result in results:
        outcome = result.outcomes["millstream, update_many"]
        row = [f"`{result.comparison.title}`", rate(result.rate("millstream, update_many"))]
        row += [rate(result.rate("millstream")), size(outcome.memory)]
        if "River" in result.rates:
            one = result.ratio("River") / result.ratio("millstream")
            row += [rate(result.rate("River")), f"{result.ratio('River'):.3g} ×", f"{one:.3g} ×"]
        else:
            row += ["–", "–", "–"]
        rows.append(row)
    head = ["detector", "update_many, values/s", "update, values/s", "state", "River, values/s"]
    head += ["speed-up, update_many", "speed-up, update"]
    return table(head, rows)


#: Libraries that quality is compared with.
PEERS = ("River", "scikit-learn", "VW")


def waits_table(waits: Sequence[Waits]) -> str:
    """The learners whose readers wait longest, by their 99th percentile."""
    slowest = sorted(waits, key=lambda each: -each.high)[:20]
    rows = [
        [
            each.name,
            *(f"{1e3 * seconds:.2f}" for seconds in (each.median, each.high, each.longest)),
            _met(each.met),
        ]
        for each in slowest
    ]
    return table(["learner", "median", "99th percentile", "maximum", "met"], rows)


def quality_table(judged: Sequence[Quality]) -> str:
    """A row for each stream: the best learner of each library, and the reduction of the loss by ours."""
    rows = []
    for found in judged:
        ours, _, learner = found.best("millstream")
        row = [found.stream, found.loss, f"{ours:.5g}, {learner}"]
        for peer in PEERS:
            loss, _, other = found.best(peer)
            row.append(f"{loss:.5g}, {other}")
        theirs, _, _ = found.best(*PEERS)
        rows.append([*row, f"{100 * (theirs - ours) / theirs:+.2f} %", _met(ours <= theirs)])
    return table(["stream", "loss", "millstream", *PEERS, "reduction", "goal met"], rows)


def every_quality_table(judged: Sequence[Quality]) -> str:
    """All learners of all libraries on all streams."""
    learners = {(library, name) for found in judged for library in found.losses for name in found.losses[library]}
    order = ["millstream", *PEERS]
    rows = []
    for library, name in sorted(learners, key=lambda one: (order.index(one[0]), one[1])):
        losses = [found.losses[library].get(name) for found in judged]
        rows.append([library, name, *("–" if loss is None else f"{loss:.5g}" for loss in losses)])
    return table(["library", "learner", *(found.stream for found in judged)], rows)


def scales_table(rescaled: Sequence[Scales]) -> str:
    """Our learner and VW's default, on each stream and on its rescaled copy."""
    # VW's 18-bit hashes collide and its weights have 32 bits; losses that differ by less than this count as equal.
    rows = [
        [found.stream, *(f"{loss:.5f}" for loss in (*found.ours, *found.theirs)),
         _met(all(ours <= theirs + 5e-5 for ours, theirs in zip(found.ours, found.theirs, strict=True)))]
        for found in rescaled
    ]  # fmt: skip
    head = [
        "stream",
        "millstream",
        "millstream, rescaled",
        "VW",
        "VW, rescaled",
        "at most VW",
    ]
    return table(head, rows)


def _quality(result: Result, side: str) -> str:
    value = result.outcomes[side].quality
    if value is None:
        return "–"
    return f"{_word(result)} {value:.4f}"


def _word(result: Result) -> str:
    measured = result.comparison.quality
    if "squared" in measured:
        return "MSE"
    return "MAE" if "error" in measured else "acc"


def machine() -> str:
    """The machine and the versions of all libraries."""
    packages = ", ".join(f"{name} {number}" for name, number in peers.versions().items())
    java = ", " + _java() if peers.has_java() else "; without MOA, which needs Java"
    return f"{goals.machine()}, {packages}{java}."


def _java() -> str:
    done = subprocess.run(["java", "-version"], capture_output=True, text=True)
    return "Java " + done.stderr.split('"')[1] if '"' in done.stderr else "Java"


def page(
    where: str,
    results: Sequence[Result],
    runs: Sequence[LongRun],
    seconds: float | None,
    turns: int,
    peaks: FilePeaks | None = None,
    judged: Sequence[Quality] = (),
    rescaled: Sequence[Scales] = (),
) -> str:
    """RESULTS.md: the comparisons with goals."""
    parts = [
        "# Results",
        f"Written by `make bench`. {where} Every learner, generator and detector: [PARTS.md](PARTS.md).",
        _how(turns),
        "## Goals",
        goals_table(results, runs, seconds, peaks),
        "## All comparisons",
        sides_table(results),
    ]
    notes = [
        f"- {result.comparison.title}: {result.comparison.note}." for result in results if result.comparison.note
    ]
    if notes:
        parts.append("\n".join(notes))
    if judged:
        parts += [
            "## Quality",
            f"Prequential loss of linear learners, all untuned, over {judged[0].rows:,} rows of each stream; "
            "benchmarks/quality.py describes the configuration of each library. Trees: [QUALITY.md](QUALITY.md).",
            quality_table(judged),
            every_quality_table(judged),
            'Log loss of `LogisticRegression(optimizer="adaptive")` and of VW\'s default, without a scaler, '
            "on the original streams and with each number multiplied by a factor from 1e-6 to 1e6.",
            scales_table(rescaled),
        ]
    return "\n\n".join(parts) + "\n"


def parts_page(
    where: str,
    turns: int,
    learners: Sequence[Result],
    generators: Sequence[Result],
    detectors: Sequence[Result],
    samplers: Sequence[Result] = (),
    waits: Sequence[Waits] = (),
    sketches: Sequence[Result] = (),
    statistics: Sequence[Result] = (),
) -> str:
    """PARTS.md: every component on its own."""
    parts = ["# Every component", f"Written by `make bench`. {where}", _how(turns)]
    if learners:
        parts += [
            "## Every learner",
            "`step_many` (transformers: `learn_many`, then `transform_many`) on a matrix of 10 columns with "
            "default parameters, compared with River's loop over dicts if River has the same learner. Quality is "
            "over the rows that both learned. Forecasters: `learn_many` of a series, and the error of the next 12 "
            "values.",
            learners_table(learners),
        ]
    if samplers:
        parts += [
            "## Every sampler",
            "Rows per second into a sample of 1,000: `learn_many` of a matrix of 2 columns, and `learn_one` of "
            "dicts; DataSketches (VarOpt) and Algorithm R in plain Python receive one number per call. Lognormal "
            "weights for `WeightedReservoir`.",
            samplers_table(samplers),
        ]
    if sketches:
        parts += [
            "## Every sketch",
            "Items per second: `update_many` of an array of a million, and `update` in a loop; DataSketches "
            "receives one item per call. Lognormal numbers, or integers with Zipf's distribution as keys.",
            sketches_table(sketches),
        ]
    if statistics:
        parts += [
            "## Every statistic and covariance estimator",
            "Numbers, or rows of 10 numbers, per second: `update_many` of an array, and `update` in a loop, "
            "compared with River's loop if River has the same. The rolling statistics are means of 1,000 numbers. "
            "`LedoitWolf` and `OAS` are those of scikit-learn, River's decay.",
            statistics_table(statistics),
        ]
    if generators:
        parts += [
            "## Every generator",
            "Examples generated in chunks and discarded; MOA with its task MeasureStreamSpeed, River with its "
            "loop.",
            generators_table(generators),
        ]
    if detectors:
        parts += [
            "## Every drift detector",
            "Errors of a classifier, 0 or 1, whose rate changes from time to time: `update_many` with all of "
            "them, and `update` and `drift_detected` in a loop, compared with River's loop if River has the same "
            "detector.",
            detectors_table(detectors),
        ]
    if waits:
        met = sum(each.met for each in waits)
        parts += [
            "## Predictions while a batch is learned",
            "Milliseconds of one `predict_one` (transformers: `transform_one`) while another thread runs "
            f"`learn_many` on 100,000 rows. The 99th percentile is below {1e3 * GOAL:g} ms for {met} of "
            f"{len(waits)} learners; the slowest twenty:",
            waits_table(waits),
        ]
    return "\n\n".join(parts) + "\n"


def _how(turns: int) -> str:
    return (
        f"The libraries in a comparison alternate for {turns} rounds, after a warm-up round. A ratio is the "
        "median of the ratios within each round, a rate the median rate. Ratios are more reliable than rates, "
        "which depend on the machine and its load."
    )
