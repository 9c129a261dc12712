"""Compare the speed with an earlier revision: `python -m benchmarks.baseline --against REVISION`.

Both builds run the same workloads alternately, in separate processes. `workloads` defines the work, `builds`
creates the two builds, `worker` runs in each process, `measure` compares, and `page` writes the table.

The page, benchmarks/BASELINE.md, has a row for each workload: its name, the number of rows in a unit of work, the
CPU time in nanoseconds (or the number of instructions) per row in the revision and now, their ratio, the smallest
and the largest ratio within a round, and a mark if the ratio is beyond 3 %. Marked rows come first. Workloads that
only one of the builds supports are listed below the table, with the reason.
"""
