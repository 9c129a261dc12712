"""Adapt a frozen language model; the caller passes embeddings, scores and rewards.

| input | learned | class |
|---|---|---|
| an embedding of each text | a class or a number, from each correction | `Head` |
| several models with costs | the model for each query, under a budget | `Router` |
| a judge's score of each response | the score above which to accept a response | `JudgeThreshold` |

The module contains no language model and needs no network access. See the guide, "Adapting language models".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream._other_names import unknown_name
from millstream.llm.head import Head
from millstream.llm.judge import JudgeThreshold, Verdict
from millstream.llm.router import Router

__all__ = ["Head", "JudgeThreshold", "Router", "Verdict"]

if not TYPE_CHECKING:
    __getattr__ = unknown_name(__name__)
