"""Damaged and foreign files are reported and moved away, and their runs are repeated."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sweeping import TINY_WORDS, assert_same, damage, error_of, file_bytes, finished, output_of

import monmdp
from monmdp.cli import main

FOREIGN = pa.BufferOutputStream()
pq.write_table(pa.table({"seed": [0, 1, 2], "return": [9.0, 9.0, 9.0]}), FOREIGN)


def footer(content: bytes) -> int:
    """Where the footer of a Parquet file begins; its length is in the four bytes before the last four."""
    return len(content) - 8 - int.from_bytes(content[-8:-4], "little")


#: What can happen to a file: its bytes before → after.
ACCIDENTS = {
    "truncated": lambda content: content[: len(content) // 2],
    "a byte short": lambda content: content[:-1],
    "zero bytes": lambda content: b"",
    "foreign": lambda content: bytes(FOREIGN.getvalue()),
    "not parquet": lambda content: b"hello",
    "footer garbled": lambda content: content[: footer(content)] + bytes(40) + content[footer(content) + 40 :],
}


@pytest.fixture
def folder(undisturbed, tmp_path):
    for name, content in file_bytes(undisturbed).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    return tmp_path


@pytest.fixture(params=["curves", "tables"])
def victim(folder, request):
    """One of the files."""
    return sorted((folder / request.param).rglob("*.parquet"))[2]


def quarantined(folder) -> list[bytes]:
    return [path.read_bytes() for path in sorted((folder / "damaged").rglob("*")) if path.is_file()]


@pytest.mark.parametrize("accident", ACCIDENTS)
def test_runs_of_a_damaged_file_are_repeated(undisturbed, folder, victim, accident, capsys):
    victim.write_bytes(ACCIDENTS[accident](victim.read_bytes()))
    broken = victim.read_bytes()
    out = output_of(capsys, "reproduce", *TINY_WORDS, "--out", str(folder))
    assert victim.name in out
    assert "3 runs in" in out
    assert damage(folder) == []
    assert_same(folder, undisturbed)
    assert quarantined(folder) == [broken]


@pytest.mark.parametrize("accident", ACCIDENTS)
def test_verify_reports_it_and_reproduce_repeats_its_runs(undisturbed, folder, victim, accident, capsys):
    victim.write_bytes(ACCIDENTS[accident](victim.read_bytes()))
    broken = victim.read_bytes()
    assert victim.name in reported_by_verify(capsys, folder)
    output_of(capsys, "reproduce", *TINY_WORDS, "--out", str(folder))
    assert damage(folder) == []
    assert_same(folder, undisturbed)
    assert quarantined(folder) == [broken]


def reported_by_verify(capsys, folder) -> str:
    """The report of `results --verify`."""
    assert main(["results", str(folder), "--verify"]) == 2
    printed = capsys.readouterr()
    assert "1 of 16 files" in printed.err
    return printed.out


@pytest.mark.parametrize("kind", ["curves", "tables"])
def test_load_warns_of_damage(folder, kind):
    victim = sorted((folder / kind).rglob("*.parquet"))[0]
    rows = len(monmdp.load(folder, kind=kind))
    victim.write_bytes(victim.read_bytes()[:-20])
    with pytest.warns(UserWarning, match=victim.name):
        assert len(monmdp.load(folder, kind=kind)) == rows * 7 // 8


def test_many_damaged_files_at_once(undisturbed, folder, capsys):
    """Twice: a file moved away earlier is not overwritten by the next."""
    for _ in range(2):
        for path, accident in zip(finished(folder), ACCIDENTS.values(), strict=False):
            path.write_bytes(accident(path.read_bytes()))
        output_of(capsys, "reproduce", *TINY_WORDS, "--out", str(folder))
        assert_same(folder, undisturbed)
    assert len(quarantined(folder)) == 2 * len(ACCIDENTS)


def test_a_flipped_byte_of_data(undisturbed, folder, capsys):
    """The footer is intact, and only the fingerprint shows the damage."""
    victim = finished(folder)[1]
    content = bytearray(victim.read_bytes())
    column = pq.ParquetFile(victim).metadata.row_group(0).column(6)
    content[column.data_page_offset + column.total_compressed_size // 2] ^= 0x10
    victim.write_bytes(content)
    with pytest.warns(UserWarning, match=victim.name):
        assert len(monmdp.load(folder)) == 21 * 11
    assert victim.name in reported_by_verify(capsys, folder)
    output_of(capsys, "reproduce", *TINY_WORDS, "--out", str(folder))
    assert damage(folder) == []
    assert_same(folder, undisturbed)


@pytest.mark.parametrize("words", [(), ("--json",)])
def test_the_list_of_results_reports_damage(folder, words, capsys):
    victim = finished(folder)[0]
    victim.write_bytes(b"")
    out = output_of(capsys, "results", str(folder), *words)
    assert victim.name in out
    assert "21" in out


def test_a_damaged_format_file(folder, capsys):
    (folder / "monmdp.json").write_text("")
    for words in (("results", str(folder)), ("reproduce", *TINY_WORDS, "--out", str(folder))):
        assert "monmdp.json is damaged" in error_of(capsys, *words)
