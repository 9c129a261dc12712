"""Repeated queries: how often does a user run the same query on two days, if a tenth of the log can be kept?

The lesson: sample what the question is about. The question is about users, so a tenth of the users answers it: a
sampled user is there with all rows. A tenth of the rows has the same size and gives an answer that is wrong by a
factor of more than ten: both rows of a repeated query are in that sample once in a hundred times, just one of them
about once in five.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow

from millstream import sampling


def search_log(users: int, seed: int = 5) -> pyarrow.Table:
    """Two days of queries. A user asks about twenty queries, and three in ten of them on both days."""
    rng = np.random.default_rng(seed)
    user = np.repeat(np.arange(users), rng.poisson(20, users))
    query = np.arange(len(user)) * 7919 % 100_003
    first = rng.integers(0, 2, len(user))
    again = np.flatnonzero(rng.random(len(user)) < 0.3)
    log = np.concatenate([np.c_[user, query, first], np.c_[user, query, 1 - first][again]])
    log = log[np.argsort(log[:, 2], kind="stable")]
    return pyarrow.table({"user": log[:, 0], "query": log[:, 1], "day": log[:, 2]})


def repeated(rows: Iterable[Mapping[str, Any]]) -> float:
    """The fraction of queries of a user that the user asked on both days."""
    days: dict[tuple[int, int], set[int]] = {}
    for x in rows:
        days.setdefault((x["user"], x["query"]), set()).add(x["day"])
    return sum(len(each) == 2 for each in days.values()) / len(days)


def main() -> None:
    """Ask the whole log, a tenth of its users, and a tenth of its rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    log = search_log(max(parser.parse_args().rows // 26, 100))

    by_user = sampling.ByKey(0.1, "user")
    by_row = sampling.Reservoir(size=log.num_rows // 10)
    # In two parts, as the days of a log arrive: the same users are in the sample on both.
    for part in (log.slice(0, log.num_rows // 2), log.slice(log.num_rows // 2)):
        by_user.learn_many(part)
        by_row.learn_many(part)

    print(f"{log.num_rows:,} queries on two days. How many queries of a user were asked on both?")
    print(f"{'the whole log':<22}{log.num_rows:>8,} rows  {repeated(log.to_pylist()):6.1%}")
    for name, sampler in (("a tenth of the users", by_user), ("a tenth of the rows", by_row)):
        rows = [x for x, _ in sampler.sample()]
        print(f"{name:<22}{len(rows):>8,} rows  {repeated(rows):6.1%}")


if __name__ == "__main__":
    main()
