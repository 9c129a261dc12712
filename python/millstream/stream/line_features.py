"""Which namespaces of Vowpal Wabbit's text are read, and the n-grams and products of their features."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from millstream import _core
from millstream._echo import quoted
from millstream.errors import InvalidType, InvalidValue
from millstream.stream.counts import count

__all__ = ["LineFeatures", "check_named"]

#: Any namespace, in a product.
WILDCARD = ":"


@dataclass(frozen=True)
class LineFeatures:
    """The arguments of `read_vw` that select and combine features, checked."""

    bits: int
    constant: bool
    interactions: tuple[str, ...]
    ngram: tuple[tuple[int, int], ...]
    skips: tuple[tuple[int, int], ...]
    ignore: str
    keep: str | None
    ignore_linear: str
    max_products: int

    @classmethod
    def checked(
        cls,
        bits: int,
        constant: bool,
        *,
        interactions: Iterable[str],
        ngram: int | Mapping[str, int] | None,
        skips: int | Mapping[str, int] | None,
        ignore: Iterable[str],
        keep: Iterable[str] | None,
        ignore_linear: Iterable[str],
        max_products: int,
    ) -> LineFeatures:
        grams, left_out = _by_namespace("ngram", ngram, 1), _by_namespace("skips", skips, 0)
        if any(skip for _, skip in left_out) and not grams:
            raise InvalidValue(f"stream.read_vw: skips needs ngram=2 or more, got skips={quoted(skips)}")
        return cls(
            bits,
            constant,
            _products(interactions),
            grams,
            left_out,
            _names("ignore", ignore),
            None if keep is None else _names("keep", keep),
            _names("ignore_linear", ignore_linear),
            count("read_vw: max_products", max_products, 1, 2**32),
        )

    @property
    def is_plain(self) -> bool:
        """Whether lines are read as they are."""
        return not (self.interactions or self.ngram or self.ignore or self.ignore_linear) and self.keep is None

    def shared(self, names: _core.FeatureNames | None) -> _core.LineFeatures:
        """The same for the core."""
        # Without products, a feature that does not count alone does not count.
        alone = bool(self.interactions)
        return _core.LineFeatures(
            self.bits,
            self.constant,
            products=[product.encode() for product in self.interactions],
            not_alone=(self.ignore_linear if alone else "").encode(),
            ignore=(self.ignore if alone else self.ignore + self.ignore_linear).encode(),
            keep=None if self.keep is None else self.keep.encode(),
            ngrams=list(self.ngram),
            skips=list(self.skips),
            most=self.max_products,
            names=names,
        )


def check_named(source: str, interactions: Iterable[str], seen: Mapping[int, str]) -> None:
    """Refuse products of namespaces that no line has."""
    for product in interactions:
        for name in product:
            if name != WILDCARD and ord(name) not in seen:
                present = ", ".join(f"'{chr(first)}' ({full})" for first, full in sorted(seen.items()))
                raise InvalidValue(
                    f"{source}: interactions={product!r} must name namespaces of the file by their first "
                    f"character; none begins with {name!r}, there are: {present or 'none'}"
                )


def _products(interactions: Iterable[str]) -> tuple[str, ...]:
    if isinstance(interactions, (str, bytes)) or not isinstance(interactions, Iterable):
        raise InvalidType(
            f'stream.read_vw: interactions must be a list such as ["ab", "::"], got {quoted(interactions)}'
        )
    products = tuple(interactions)
    for product in products:
        if not isinstance(product, str) or len(product) < 2 or not product.isascii() or "|" in product:
            raise InvalidValue(
                "stream.read_vw: interactions must name two or more namespaces each, by their first characters or "
                f"':' for any, got {quoted(product)}"
            )
    return products


def _names(parameter: str, names: Iterable[str]) -> str:
    """First characters of namespaces, as one string."""
    if not isinstance(names, Iterable) or isinstance(names, bytes):
        raise InvalidType(
            f"stream.read_vw: {parameter} must be first characters of namespaces, got {quoted(names)}"
        )
    chosen = list(names)
    for name in chosen:
        if not isinstance(name, str) or len(name) != 1 or not name.isascii():
            raise InvalidValue(
                f"stream.read_vw: {parameter} must be first characters of namespaces, got {quoted(name)}"
            )
    return "".join(chosen)


def _by_namespace(
    parameter: str, numbers: int | Mapping[str, int] | None, least: int
) -> tuple[tuple[int, int], ...]:
    """A number for each first byte of a namespace: one number is for all."""
    if numbers is None:
        return ()
    if isinstance(numbers, Mapping):
        names = _names(parameter, numbers)
        pairs = zip(names, numbers.values(), strict=True)
        return tuple((ord(name), count(f"read_vw: {parameter}", number, least, 64)) for name, number in pairs)
    number = count(f"read_vw: {parameter}", numbers, least, 64)
    return tuple((byte, number) for byte in range(256)) if number > least else ()
