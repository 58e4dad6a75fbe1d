"""A flipped bit anywhere in a file is detected or harmless: no wrong number, no stack trace."""

from __future__ import annotations

import random

import pytest
from sweeping import SINGLE, contents, damage

import monmdp
from monmdp.study.store import read_entry


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    monmdp.run_sweep([SINGLE], folder)
    return folder


@pytest.mark.filterwarnings("ignore:.*is damaged")
@pytest.mark.parametrize("kind", ["curves", "tables"])
def test_every_flipped_bit_is_detected_or_harmless(folder, kind):
    (path,) = (folder / kind).rglob("*.parquet")
    original = path.read_bytes()
    expected, entry = contents(folder), read_entry(path, kind)
    rng = random.Random(f"flips of {kind}")
    missed = []
    try:
        for place in rng.sample(range(len(original)), 700):
            content = bytearray(original)
            content[place] ^= 1 << rng.randrange(8)
            path.write_bytes(content)
            try:
                harmless = damage(folder) or (contents(folder) == expected and read_entry(path, kind) == entry)
            except Exception as error:
                missed.append((place, repr(error)))
            else:
                if not harmless:
                    missed.append((place, bytes(original[max(place - 10, 0) : place + 10])))
    finally:
        path.write_bytes(original)
    assert missed == []
