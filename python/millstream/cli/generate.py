"""`millstream generate`: write the rows of a source to a file; also converts formats and samples."""

from __future__ import annotations

import contextlib
import io
import sys
import time
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from millstream._echo import quoted
from millstream.cli import show
from millstream.cli.errors import UsageError
from millstream.cli.options import OK, QUIET, Command, Option, count, grouped, positive
from millstream.cli.sources import SOURCE_OPTIONS, source_of
from millstream.cli.writers import ENDINGS, Writer, check_apart, check_place, standard_output
from millstream.errors import InvalidValue

if TYPE_CHECKING:
    from millstream.sampling import Sampler
    from millstream.stream import Chunk

__all__ = ["COMMAND"]

#: Default number of rows of a generator.
_ROWS = 10_000


def main(given: Namespace) -> int:
    """Run the command."""
    from millstream.cli.text_formats import LINES

    check_place(given.out, (*ENDINGS, *LINES), what="--out")
    check_apart({"SOURCE": given.source, "--out": given.out})
    stream = source_of(given, learning=False)
    rows = given.rows if given.rows is not None else given.limit
    if rows is None and stream.endless:
        rows = _ROWS
    if rows is not None:
        stream = stream.take(rows)
    sampler = _sampler(given)
    if sampler:
        stream = stream.sample(sampler)
    target = stream.target or "target"
    ending = Path(given.out).suffix.lower()
    begun = time.perf_counter()
    made = 0
    if given.to or ending in LINES:
        to = f".{given.to.removeprefix('.')}" if given.to else ending
        made = _as_lines(stream.chunks(), to, given.out, target) if to in LINES else 0
        if to not in LINES:
            allowed = ", ".join(name.removeprefix(".") for name in LINES)
            raise UsageError(f"--to must be one of {allowed}, got {quoted(given.to or ending)}")
    else:
        with Writer(given.out) as writer:
            for chunk in stream.chunks():
                writer.write_table(_table(chunk, target))
            made = writer.rows
    if not made and sampler:
        raise InvalidValue(f"{given.source}: no row is in the sample")
    if not made:
        raise InvalidValue(f"{given.source}: there are no rows")
    seconds = time.perf_counter() - begun
    where = "" if given.out == "-" else f" to {given.out}"
    show.remark(
        f"{show.counted(made, 'row')}{where} in {seconds:.3g} s ({made / seconds:,.0f} rows/s)",
        given.quiet or given.out == "-",
    )
    return OK


def _sampler(given: Namespace) -> Sampler | None:
    """The sampler of --sample or --sample-by."""
    if given.sample is None and given.sample_by is None:
        return None
    if given.sample is not None and given.sample_by is not None:
        raise UsageError("pass --sample or --sample-by, not both")
    from millstream import sampling

    if given.sample is not None:
        return sampling.Reservoir(given.sample, seed=given.sample_seed)
    key, fraction = given.sample_by
    try:
        number = float(fraction)
    except ValueError:
        raise UsageError(
            f"--sample-by COLUMN FRACTION: FRACTION must be a number, got {quoted(fraction)}"
        ) from None
    if not 0.0 < number <= 1.0:
        raise UsageError(f"--sample-by COLUMN FRACTION: FRACTION must be in (0, 1], got {quoted(fraction)}")
    return sampling.ByKey(number, key, seed=given.sample_seed)


def _as_lines(chunks: Iterator[Chunk], ending: str, out: str, target: str) -> int:
    from millstream.cli.text_formats import LINES

    made = 0
    with contextlib.ExitStack() as stack:
        file: Any
        if out == "-":
            sys.stdout.flush()
            file = io.TextIOWrapper(standard_output(), "utf-8", newline="\n", write_through=True)
            # Standard output stays open behind it.
            stack.callback(file.detach)
        else:
            file = stack.enter_context(Path(out).open("w", encoding="utf-8", newline="\n"))
        write = LINES[ending](file, target)
        for chunk in chunks:
            write(chunk)
            made += len(chunk)
    return made


def _table(chunk: Chunk, target: str) -> Any:
    """The features and the target as an Arrow table."""
    import pyarrow

    from millstream import _frames

    X = chunk.X
    if hasattr(X, "column_names"):
        table = X
    elif hasattr(X, "shape"):
        table = pyarrow.table({f"x{place}": X[:, place] for place in range(X.shape[1])})
    else:
        table = pyarrow.Table.from_pylist([{str(k): v for k, v in row.items()} for row in _frames.dicts(X)])
    for name, column in chunk.beside.items():
        own = {"y": target, "w": "weight"}.get(name, name)
        values = _frames.targets(column) if name == "y" else column
        table = table.append_column(own, values if hasattr(values, "type") else pyarrow.array(values))
    return table


COMMAND = Command(
    "generate",
    "write the rows of a generator, a data set or a file in another format, or a sample of them",
    "The suffix of --out determines the format. Generators are infinite: --rows limits them (default 10,000).",
    (
        *SOURCE_OPTIONS,
        *grouped(
            "sample",
            Option(
                ("--sample-by",),
                "write all rows of a fraction of the values of a column, the same values in every file",
                values=("COLUMN", "FRACTION"),
            ),
            Option(
                ("--sample",),
                "write a uniform sample of this size, in the order of the rows",
                value="ROWS",
                kind=positive,
            ),
            Option(("--sample-seed",), "seed of the sample", value="NUMBER", kind=count, default=0),
        ),
        Option(
            ("--rows", "-n"),
            "number of rows; of the source, if it is sampled",
            value="ROWS",
            kind=count,
            group="output",
        ),
        Option(
            ("--out",),
            'output file; "-" is standard output, as CSV',
            value="FILE.csv|parquet|jsonl|arff|vw|libsvm",
            default="-",
            complete="file",
            group="output",
        ),
        Option(("--to",), "format on standard output: arff, vw or libsvm", value="FORMAT", group="output"),
        QUIET,
    ),
    (
        ("a CSV file of a generator", 'generate "SEA(seed=1)" -n 10000 --out sea.csv'),
        ("a million rows as Parquet", 'generate "RandomRBF(n_features=10)" -n 1e6 --out rbf.parquet'),
        ("convert a file", "generate data.csv --target y --out data.vw"),
        ("all rows of a tenth of the users", "generate big.csv --sample-by user 0.1 --out small.csv"),
    ),
    main,
)
