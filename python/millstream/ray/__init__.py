"""Models that learn in actors of Ray.

`KeyedPool` has one model per key, in shards that the actors hold; `MergedPool` one global model, from partial
models of the actors. An actor that dies is replaced: the new one reads the last saved state, and receives again
what was learned since. Ray is imported when a pool is made.
"""

from millstream.ray.keyed import KeyedPool
from millstream.ray.local import start_local
from millstream.ray.merged import MergedPool

__all__ = ["KeyedPool", "MergedPool", "start_local"]
