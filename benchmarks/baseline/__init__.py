"""Is anything slower than in an earlier revision? `python -m benchmarks.baseline --against REVISION`.

Both builds do the same list of work, in turns, in processes of their own. `workloads` is what they do, `builds`
makes the two builds, `worker` runs in each of the processes, `measure` compares, and `page` writes the table.

The page, benchmarks/BASELINE.md, has a row for each workload: its name, the rows of a unit of work, the
nanoseconds of CPU time (or the instructions) for each row in the revision and now, their ratio, the least and the
greatest ratio within a round, and a mark if the ratio is beyond 3 %. Rows with a mark come first. Workloads that
only one of the builds can do are listed below the table, with the reason.
"""
