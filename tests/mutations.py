"""Mutations of valid inputs: bytes, pieces, and numbers that programs get wrong."""

import random
import re
from collections.abc import Iterator, Sequence

NUMBERS = (
    *(b"0", b"-1", b"1", b"2147483647", b"2147483648", b"4294967296", b"9223372036854775808"),
    *(b"1e999", b"nan", b"-inf", b"1e-400", b"007", b"9" * 30, b"1" + b"0" * 400, b"99999999"),
)
TOKENS = (
    *(b"\0", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\r", b"\n", b"\t", b" ", b'"', b"'", b",", b"{"),
    *(b"}", b"[", b"]", b"null", b"true", b"\xe2\x80\xa8", b"\x1b[2J", b"&#55296;", b"[" * 3000),
)
_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


def mutations(seeds: Sequence[bytes], seed: int) -> Iterator[bytes]:
    """Mutated inputs without end."""
    rng = random.Random(seed)
    while True:
        data = bytearray(rng.choice(seeds))
        for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
            rng.choice(_STEPS)(rng, data, seeds)
        yield bytes(data)


def _flip(rng: random.Random, data: bytearray, seeds: Sequence[bytes]) -> None:
    if data:
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def _byte(rng: random.Random, data: bytearray, seeds: Sequence[bytes]) -> None:
    if data:
        data[rng.randrange(len(data))] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))


def _word(rng: random.Random, data: bytearray, seeds: Sequence[bytes]) -> None:
    """A binary number."""
    size = rng.choice((2, 4, 8))
    if len(data) >= size:
        at = rng.randrange(len(data) - size + 1)
        value = rng.choice((0, 1, 2 ** (8 * size - 1), 2 ** (8 * size) - 1, 1 << (4 * size)))
        data[at : at + size] = value.to_bytes(size, rng.choice(("little", "big")))


def _number(rng: random.Random, data: bytearray, seeds: Sequence[bytes]) -> None:
    if found := list(_NUMBER.finditer(data)):
        chosen = rng.choice(found)
        data[chosen.start() : chosen.end()] = rng.choice(NUMBERS)


def _token(rng: random.Random, data: bytearray, seeds: Sequence[bytes]) -> None:
    at = rng.randrange(len(data) + 1)
    data[at:at] = rng.choice(TOKENS)


def _cut(rng: random.Random, data: bytearray, seeds: Sequence[bytes]) -> None:
    start = rng.randrange(len(data) + 1)
    del data[start : start + rng.choice((1, 2, 8, 64, len(data)))]


def _double(rng: random.Random, data: bytearray, seeds: Sequence[bytes]) -> None:
    start = rng.randrange(len(data) + 1)
    piece = data[start : start + rng.choice((1, 4, 16, 64))]
    data[start:start] = piece * rng.choice((1, 1, 2, 50))


def _splice(rng: random.Random, data: bytearray, seeds: Sequence[bytes]) -> None:
    other = rng.choice(seeds)
    at, start = rng.randrange(len(data) + 1), rng.randrange(len(other) + 1)
    data[at : at + rng.randrange(32)] = other[start : start + rng.randrange(64)]


_STEPS = (_flip, _byte, _word, _number, _token, _cut, _double, _splice)
