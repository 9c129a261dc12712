"""The native parts of serving: checksums, strict JSON, pending events."""

from __future__ import annotations

import gc
import json
import math
import random
import re
import string
import threading
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millstream import _core
from millstream.errors import InvalidType, InvalidValue

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner, max_size=4),
    max_leaves=20,
)


def same(a: Any, b: Any) -> bool:
    """Equal in value, type and sign of zero."""
    return repr(a) == repr(b)


# CRC-32C


def test_crc32c_of_published_vectors() -> None:
    # RFC 3720, appendix B.4.
    assert _core.crc32c(b"") == 0
    assert _core.crc32c(b"123456789") == 0xE3069283
    assert _core.crc32c(bytes(32)) == 0x8A9136AA
    assert _core.crc32c(b"\xff" * 32) == 0x62A8AB43
    assert _core.crc32c(bytes(range(32))) == 0x46DD794E


@given(st.binary(max_size=300), st.integers(0, 300))
def test_crc32c_goes_on_from_a_checksum(data: bytes, cut: int) -> None:
    assert _core.crc32c(data[cut:], _core.crc32c(data[:cut])) == _core.crc32c(data)


def test_crc32c_finds_every_flipped_bit_of_a_long_record() -> None:
    data = bytearray(random.Random(1).randbytes(100_000))
    known = _core.crc32c(bytes(data))
    for bit in random.Random(2).sample(range(8 * len(data)), 200):
        data[bit // 8] ^= 1 << bit % 8
        assert _core.crc32c(bytes(data)) != known
        data[bit // 8] ^= 1 << bit % 8


# Reading JSON


@given(JSON_VALUES, st.sampled_from([None, 2]), st.booleans())
def test_parses_what_the_standard_library_writes(value: Any, indent: int | None, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    assert same(_core.parse_json(text), value)
    assert same(_core.parse_json(text.encode()), value)


@given(st.text(st.sampled_from('{}[]":,\\u0aeE+-.1 tnrfals"\n\x00é\ud800'), max_size=30))
@settings(max_examples=500)
def test_accepts_nothing_that_the_standard_library_refuses(text: str) -> None:
    values, errors = _core.parse_json_lines(text.encode(errors="replace").replace(b"\n", b" "))
    assert all("\n" not in message for message in errors.values())
    try:
        value = _core.parse_json(text)
    except InvalidValue:
        return
    assert same(value, json.loads(text))
    assert same(values, [value])


@given(st.from_regex(r"-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,25})?([eE][+-]?[0-9]{1,3})?", fullmatch=True))
@settings(max_examples=500)
def test_numbers_are_those_of_the_standard_library(text: str) -> None:
    number = json.loads(text)
    if math.isinf(number):
        with pytest.raises(InvalidValue, match="is not a finite number"):
            _core.parse_json(text)
    else:
        assert same(_core.parse_json(text), number)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"x": {"hour": 1, "hour": 2}}', "x.hour: duplicate key"),
        ('{"x": {"hour": 1, "\\u0068our": 2}}', "x.hour: duplicate key"),
        ('{"x": {"a b": 1e400}}', 'x["a b"]: 1e400 is not a finite number'),
        ('{"x": {"a": -1e999}}', "x.a: -1e999 is not a finite number"),
        ('{"x": [1, 2, {"b": NaN}]}', "x[2].b: NaN is not a finite number"),
        ('{"x": -Infinity}', "x: -Infinity is not a finite number"),
        ('{"x": {"a": 1},   }', "body: expected a key in double quotes at byte 18"),
        ('{"a": {"b": ]}}', "a.b: expected a value at byte 12"),
        ("                 ", "body: expected a value at byte 17"),
        ('{"a":1}{', "body: unexpected data at byte 7"),
        ('{"a" 1}', "a: expected ':' at byte 5"),
        ('{"a": 1 "b"}', "body: expected ',' or '}' at byte 8"),
        ("[1 2]", "body: expected ',' or ']' at byte 3"),
        ("[01]", "[0]: invalid number at byte 1"),
        ("[tru]", "[0]: expected a value at byte 1"),
        ('["\\ud800"]', "[0]: lone surrogate at byte 2"),
        ('["abc', "[0]: unterminated string at byte 1"),
        ('["a\tb"]', "[0]: control character in a string at byte 3"),
        ("\ufeff{}", "body: byte order mark at byte 0"),
        ('"\ud800"', "body: lone surrogate in the text"),
        (b'{"a": "\xff"}', "body: invalid UTF-8 at byte 7"),
        (b'"\xed\xa0\x80"', "body: invalid UTF-8 at byte 1"),
        (b"\xff\xfe{\x00}\x00", "body: invalid UTF-8 at byte 0"),
        (b"{}\x00", "body: unexpected data at byte 2"),
        (b"", "body: expected a value at byte 0"),
        ('{"a\\nb": x}', '["a\\\\nb"]: expected a value at byte 9'),
    ],
)
def test_errors_name_the_place(text: bytes | str, message: str) -> None:
    with pytest.raises(InvalidValue) as caught:
        _core.parse_json(text)
    assert str(caught.value) == message.replace("\\\\", "\\")


def test_long_values_are_shortened_in_errors() -> None:
    with pytest.raises(InvalidValue, match=r"^x: 9{40}…9{14}e9999 is not a finite number$") as caught:
        _core.parse_json('{"x": ' + "9" * 5000 + "e9999}")
    assert len(str(caught.value)) < 100
    with pytest.raises(InvalidValue) as caught:
        _core.parse_json(json.dumps({"k" * 10_000: {"l" * 10_000: [1]}})[:-3])
    assert len(str(caught.value)) < 200


def test_depth_is_limited() -> None:
    assert _core.parse_json("[" * 64 + "]" * 64) is not None
    for text in ("[" * 65 + "]" * 65, '{"a":' * 65 + "1" + "}" * 65, "[" * 100_000, '{"a":[' * 100_000):
        with pytest.raises(InvalidValue, match="nested deeper than 64 levels"):
            _core.parse_json(text)


def test_keys_are_limited() -> None:
    text = json.dumps({f"k{i}": i for i in range(1000)})
    assert len(_core.parse_json(text, max_keys=1000)) == 1000
    with pytest.raises(InvalidValue, match="^body: more than 999 keys$"):
        _core.parse_json(text, 999)
    with pytest.raises(InvalidValue, match="^x: more than 100000 keys$"):
        _core.parse_json(json.dumps({"x": {str(i): i for i in range(100_001)}}))


def test_integers_are_exact_up_to_400_digits() -> None:
    for digits in (18, 19, 20, 309, 400):
        number = int("9" * digits)
        assert _core.parse_json(f"[{number},-{number}]") == [number, -number]
    with pytest.raises(InvalidValue, match="^n: 1{40}…1{19} has more than 400 digits$"):
        _core.parse_json('{"n": ' + "1" * 401 + "}")


@pytest.mark.parametrize("data", [None, 1, bytearray(b"{}"), {}])
def test_only_bytes_and_text_are_parsed(data: Any) -> None:
    with pytest.raises(InvalidType, match="must be bytes or a str"):
        _core.parse_json(data)


def test_keys_are_reused_between_bodies() -> None:
    first, second = (_core.parse_json(b'{"reused key": 1}') for _ in range(2))
    assert next(iter(first)) is next(iter(second))
    # Many keys replace each other in the cache, and stay right.
    for seed in range(3):
        names = [
            "".join(random.Random(f"{seed} {i}").choices(string.printable, k=i % 80)) + str(i) for i in range(6000)
        ]
        assert list(_core.parse_json(json.dumps(dict.fromkeys(names)))) == names


def test_parses_within_a_finalizer_and_in_threads() -> None:
    class Parses:
        def __init__(self) -> None:
            self.itself = self

        def __del__(self) -> None:
            seen.append(_core.parse_json('{"within": [1, {"a": 2}]}'))

    seen: list[Any] = []
    body = json.dumps([{"a": [{}] * 50} for _ in range(50)])
    expected = json.loads(body)

    def parse() -> None:
        for _ in range(50):
            Parses()
            assert _core.parse_json(body) == expected

    threads = [threading.Thread(target=parse) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gc.collect()
    assert seen == [{"within": [1, {"a": 2}]}] * 200


def test_the_raw_text_of_a_member_is_as_given() -> None:
    body = '{"id": "a", "x":  {"größe": 1.50, "t": "\\u0041"} , "y": {"x": 2}}'
    value, raw = _core.parse_json_with_raw(body, "x")
    assert value == json.loads(body)
    assert raw == '{"größe": 1.50, "t": "\\u0041"}'.encode()
    assert _core.parse_json_with_raw(body.encode(), "y")[1] == b'{"x": 2}'
    assert _core.parse_json_with_raw('{"\\u0078":[1 ]}', "x") == ({"x": [1]}, b"[1 ]")
    assert _core.parse_json_with_raw(body, "z")[1] is None
    assert _core.parse_json_with_raw('[{"x": 1}]', "x") == ([{"x": 1}], None)
    with pytest.raises(InvalidValue, match="^x: duplicate key$"):
        _core.parse_json_with_raw('{"x": 1, "x": 2}', "x")


def test_one_bad_line_does_not_spoil_the_others() -> None:
    lines = b'{"a": 1}\r\n\n{"a": 1, "a": 2}\n  \t\n"x"\n\xff\n{"b":\n[2, NaN]\nnull'
    values, errors = _core.parse_json_lines(lines)
    assert values == [{"a": 1}, None, "x", None, None, None, None]
    assert errors == {
        1: "a: duplicate key",
        3: "body: invalid UTF-8 at byte 0",
        4: "b: expected a value at byte 5",
        5: "[1]: NaN is not a finite number",
    }
    assert _core.parse_json_lines("\n\n") == ([], {})
    assert _core.parse_json_lines('{"a": 1, "b": 2}\n[]', max_keys=1) == (
        [None, []],
        {0: "body: more than 1 keys"},
    )


# Writing JSON


@given(JSON_VALUES)
@settings(max_examples=300)
def test_writes_as_the_standard_library(value: Any) -> None:
    assert _core.write_json(value).decode() == json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    assert same(_core.parse_json(_core.write_json(value)), value)


@given(st.floats(allow_nan=False, allow_infinity=False))
@settings(max_examples=2000)
def test_writes_floats_as_repr(number: float) -> None:
    assert _core.write_json(number).decode() == repr(number)


def test_writes_numbers_near_powers_of_ten_as_repr() -> None:
    for exponent in range(-320, 309):
        for number in (
            float(f"1e{exponent}"),
            math.nextafter(float(f"1e{exponent}"), 0),
            float(f"1.5e{exponent}"),
        ):
            assert _core.write_json(-number).decode() == repr(-number)


def test_writes_only_what_json_can_hold() -> None:
    assert _core.write_json((1, [True, None], {"a": 2**70})) == b'[1,[true,null],{"a":1180591620717411303424}]'
    itself: list[Any] = []
    itself.append(itself)
    for value, message in [
        (math.nan, "must be finite"),
        ({"a": -math.inf}, "must be finite"),
        ("\ud800", "valid Unicode"),
        (itself, "nested deeper than 64"),
        (10**5000, "too long"),
    ]:
        with pytest.raises(InvalidValue, match=message):
            _core.write_json(value)
    for value, message in [
        ({1: 2}, "a key in JSON must be a str, got int 1"),
        (re.compile(""), "cannot be written"),
    ]:
        with pytest.raises(InvalidType, match=message):
            _core.write_json(value)
