"""The files of a translated model."""

from __future__ import annotations

import os

from millstream._files import write_whole
from millstream.export.c_source import c_source
from millstream.export.onnx_file import onnx_bytes
from millstream.export.translation import Exported

__all__ = ["write_c", "write_onnx"]


def write_onnx(exported: Exported, path: str | os.PathLike[str]) -> None:
    """Write an ONNX file."""
    write_whole(path, onnx_bytes(exported))


def write_c(exported: Exported, path: str | os.PathLike[str], name: str = "model") -> None:
    """Write a C file."""
    write_whole(path, c_source(exported, name).encode())
