"""Composition of models: `a | b` makes a pipeline, `a + b` a union; `Select`, `Drop`, `Func` and
`Interact` are transformers for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream._other_names import unknown_name
from millstream.compose.func import Func, FuncTransformer
from millstream.compose.interact import Interact
from millstream.compose.keyed import Keyed
from millstream.compose.pipeline import Pipeline
from millstream.compose.renaming import Prefixer, Renamer, SelectType, Suffixer
from millstream.compose.selection import Discard, Drop, Select
from millstream.compose.target_transform import TargetTransformRegressor
from millstream.compose.union import TransformerUnion, Union

__all__ = [
    "Discard",
    "Drop",
    "Func",
    "FuncTransformer",
    "Interact",
    "Keyed",
    "Pipeline",
    "Prefixer",
    "Renamer",
    "Select",
    "SelectType",
    "Suffixer",
    "TargetTransformRegressor",
    "TransformerUnion",
    "Union",
]

if not TYPE_CHECKING:
    __getattr__ = unknown_name(__name__)
