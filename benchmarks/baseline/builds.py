"""The two builds: the working tree as it is, and a revision of it, both with the release profile."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

__all__ = ["TOP", "Build", "of_revision", "of_working_tree"]

TOP = Path(__file__).parent.parent.parent
#: Folder of the builds, which are reused and not installed.
FOLDER = TOP / "build" / "baseline"
#: Length of the name of every build: see `Build.environment`.
HERE, LENGTH = "working-tree", len("working-tree")
MODULE = "_core.abi3.so"


@dataclass(frozen=True)
class Build:
    """A package with its compiled module, in a folder for PYTHONPATH."""

    name: str
    path: Path

    def environment(self, padding: int = 0) -> dict[str, str]:
        """Environment variables of a process with this build and the benchmarks of the working tree.

        The length of the environment affects memory addresses, which can change a time by a quarter. It is
        therefore the same for both builds, and `padding` varies it.
        """
        paths = os.pathsep.join([str(self.path), str(TOP)])
        return os.environ | {"PYTHONPATH": paths, "PYTHONHASHSEED": "0", "PADDING": "x" * padding}


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=TOP, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"git {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout.strip()


def _compile(tree: Path, name: str) -> Path:
    """The compiled module of a tree. Both trees share their compiled dependencies."""
    target = FOLDER / "target"
    print(f"building {name} with the release profile", file=sys.stderr, flush=True)
    command = [
        "cargo",
        "build",
        "--release",
        "--locked",
        "--quiet",
        "-p",
        "millstream-python",
        "--target-dir",
        target,
    ]
    done = subprocess.run(command, cwd=tree, env=os.environ | {"PYO3_PYTHON": sys.executable}, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{name} cannot be built")
    suffix = ".dylib" if sys.platform == "darwin" else ".so"
    return target / "release" / f"lib_core{suffix}"


def _install(tree: Path, compiled: Path, path: Path) -> None:
    """Copy the package and its module atomically."""
    new = path.with_name(f"{path.name}.new")
    shutil.rmtree(new, ignore_errors=True)
    shutil.copytree(tree / "python", new, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    shutil.copy(compiled, new / "millstream" / MODULE)
    shutil.rmtree(path, ignore_errors=True)
    new.rename(path)


def of_working_tree() -> Build:
    """The working tree, including uncommitted changes."""
    path = FOLDER / HERE
    FOLDER.mkdir(parents=True, exist_ok=True)
    _install(TOP, _compile(TOP, "the working tree"), path)
    return Build(HERE, path)


def of_revision(revision: str) -> Build:
    """A revision, built in a temporary worktree."""
    commit = _git("rev-parse", "--verify", f"{revision}^{{commit}}")
    name = commit[:LENGTH]
    path = FOLDER / name
    if not path.is_dir():
        tree = FOLDER / "worktree"
        FOLDER.mkdir(parents=True, exist_ok=True)
        if tree.exists():
            # Left by an interrupted run.
            _git("worktree", "remove", "--force", str(tree))
        _git("worktree", "add", "--detach", "--force", str(tree), commit)
        try:
            _install(tree, _compile(tree, f"{revision} ({name})"), path)
        finally:
            _git("worktree", "remove", "--force", str(tree))
    return Build(name, path)
