"""The weights of networks in readable form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["HasLayers", "Layer"]


@dataclass(frozen=True)
class Layer:
    """The weights of one layer: `weights[k]` are those from input k to each unit of the layer.

    For the first layer, `weights` is a dict: by feature, and by value of a nominal one (or, with embeddings, a
    row for each number of its vectors). For the others it is a matrix with a row for each unit of the layer
    below; for the last one, a row for each unit of the output.
    """

    intercepts: Any
    weights: Any


class HasLayers:
    """A network whose weights can be read."""

    @property
    def layers(self) -> list[Layer]:
        """The weights of each layer, the first one by feature; empty before the first example."""
        found = self.inspect().get("layers", [])  # type: ignore[attr-defined]
        return [Layer(np.array(layer["intercepts"]), _read(layer["weights"])) for layer in found]


def _read(weights: Any) -> Any:
    if isinstance(weights, dict):
        return {name: _read(inner) for name, inner in weights.items()}
    return np.array(weights)
