"""Ray on this machine alone."""

from __future__ import annotations

import os
import sys
from typing import Any

from millstream.errors import InvalidState, MissingPackage

__all__ = ["import_ray", "start_local"]

#: Read once, when ray is imported. In spite of its name, it makes Ray use the loopback address on every system.
_LOOPBACK = ("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")


def import_ray() -> Any:
    """The package ray."""
    try:
        import ray
    except ImportError:
        raise MissingPackage('ray: ray is not installed: pip install "millstream[ray]"') from None
    return ray


def start_local(workers: int = 2, **options: Any) -> None:
    """Start Ray on this machine with all ports on the loopback address, where no other machine reaches them.

    `ray.init` alone listens on all addresses. Call this before `ray` is imported.

    Parameters
    ----------
    workers
        The number of actors that there is room for.
    options
        Further options of `ray.init`.
    """
    name, value = _LOOPBACK
    if "ray" in sys.modules and os.environ.get(name) != value:
        raise InvalidState(f"ray: start_local must be called before ray is imported, or with {name}={value} set")
    os.environ[name] = value
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    given = {"num_cpus": workers, "include_dashboard": False, "log_to_driver": False, **options}
    import_ray().init(**given)
