"""Files that fit their fingerprint and do not agree with themselves: set aside, and their runs are done again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sweeping import assert_same, damage

import monmdp
from monmdp.cli import main
from monmdp.study.results import Results
from monmdp.study.store import _fingerprint, _seeds_hash
from monmdp.training.job import identity

SWEEP = monmdp.Sweep(["Walk"], ["Full", "Ask"], ["Naive"], seeds=3, steps=100, points=5)
FLOATS = pa.list_(pa.float64())
Change = Callable[[dict[str, Any], pa.Table], pa.Table | None]


def forge(path: Path, change: Change) -> Path:
    """Change the description and the rows of a file, and give it a name with all hashes that it should have."""
    table = pq.read_table(path)
    described = json.loads(table.schema.metadata[b"monmdp"])
    changed = change(described, table)
    table = table if changed is None else changed
    metadata = described.pop("raw", None) or json.dumps(described).encode()
    sink = pa.BufferOutputStream()
    pq.write_table(table.replace_schema_metadata({b"monmdp": metadata}), sink)
    content = bytes(sink.getvalue())
    try:
        hashes = f"{described['identity']}-{_seeds_hash(described['seeds'])}"
    except (KeyError, TypeError):
        hashes = path.stem.rpartition("-")[0]
    path.unlink()
    path = path.with_name(f"{hashes}-{_fingerprint(content)}.parquet")
    path.write_bytes(content)
    return path


def setting(name: str, value: Any, hashed: bool = True) -> Change:
    """Another value of a setting, with the identity that fits."""

    def change(described, table):
        described["settings"][name] = value
        if hashed:
            described["identity"] = identity(described["settings"])
            column = pa.array([described["identity"]] * len(table))
            return table.set_column(table.column_names.index("cell"), "cell", column)
        return None

    return change


def stated(name: str, value: Any) -> Change:
    return lambda described, table: described.update({name: value})


def column(name: str, convert: Callable[[list[Any]], Any]) -> Change:
    def change(described, table):
        return table.set_column(table.column_names.index(name), name, convert(table.column(name).to_pylist()))

    return change


ANY: dict[str, Change] = {
    "settings without their identity": setting("discount", 0.5, hashed=False),
    "a name that is a number": setting("environment", 5),
    "a name that the rows do not have": setting("agent", "Other"),
    "steps as text": setting("steps", "100"),
    "a problem that is a list": setting("problem", []),
    "options that are a list": setting("agent_options", []),
    "fewer seeds": stated("seeds", [0, 1]),
    "more seeds": stated("seeds", [0, 1, 2, 3]),
    "other seeds": stated("seeds", [0, 1, 7]),
    "a seed twice": stated("seeds", [0, 1, 1]),
    "no seeds": stated("seeds", []),
    "seeds as text": stated("seeds", ["0", "1", "2"]),
    "a seed that is too large": stated("seeds", [0, 1, 2**63]),
    "seeds in another order": stated("seeds", [2, 1, 0]),
    "a number as seeds": stated("seeds", 3),
    "another kind": stated("kind", "pages"),
    "another identity": stated("identity", "0" * 16),
    "an identity that is a list": stated("identity", [1]),
    "settings that are a list": stated("settings", [1, 2]),
    "no description": stated("raw", b"{}"),
    "a description that is a list": stated("raw", b"[1, 2]"),
    "a description without end": stated("raw", b"[" * 100_000),
    "a description in no language": stated("raw", b"\xff\xfe"),
    "a missing row": lambda described, table: table.slice(1),
    "no rows": lambda described, table: table.slice(0, 0),
    "rows twice": lambda described, table: pa.concat_tables([table, table]),
    "no column seed": lambda described, table: table.drop_columns(["seed"]),
    "a column twice": lambda described, table: table.append_column("seed", table.column("seed")),
    "a column of text": lambda described, table: table.append_column("more", pa.array(["x"] * len(table))),
    "seeds that are missing": column("seed", lambda values: pa.array([None, *values[1:]], pa.int64())),
    "seeds as fractions": column("seed", lambda values: pa.array(values, pa.float64())),
    "another cell": column("cell", lambda values: pa.array(["0" * 16] * len(values))),
}
CURVES: dict[str, Change] = {
    "other steps": setting("steps", 101),
    "other points": setting("points", 4),
    "very many points": setting("points", 10**12),
    "more points than steps": setting("points", 10**3),
    "negative points": setting("points", -6),
    "very many steps": setting("steps", 10**30),
    "steps in another order": column("step", lambda values: pa.array(values[::-1])),
    "no column step": lambda described, table: table.drop_columns(["step"]),
    "returns as text": column("return", lambda values: pa.array(list(map(str, values)))),
    "returns as lists": column("return", lambda values: pa.array([[value] for value in values])),
    "an infinite return": column("return", lambda values: pa.array([np.inf, *values[1:]])),
}
TABLES: dict[str, Change] = {
    "no tables": lambda described, table: table.drop_columns(["q"]),
    "tables of different sizes": column("q", lambda values: pa.array([values[0][:3], *values[1:]])),
    "tables of another size": column("q", lambda values: pa.array([value[:3] for value in values])),
    "counts of different sizes": column("visit_counts", lambda values: pa.array([[], *values[1:]])),
    "tables with gaps": column("q", lambda values: pa.array([[None, *value[1:]] for value in values], FLOATS)),
    "tables that are missing": column("reward_model", lambda values: pa.array([None, *values[1:]], FLOATS)),
    "tables as text": column("q", lambda values: pa.array([str(value) for value in values])),
    "an infinite optimum": column("optimal_return", lambda values: pa.array([-np.inf] * len(values))),
    "solved as a number": column("solved", lambda values: pa.array([1.0] * len(values))),
}  # fmt: skip
CASES = [
    *((kind, name, change) for kind in ("curves", "tables") for name, change in ANY.items()),
    *(("curves", name, change) for name, change in CURVES.items()),
    *(("tables", name, change) for name, change in TABLES.items()),
]


def victim(folder: Path, kind: str) -> Path:
    (path,) = (folder / kind / "Walk" / "Ask").rglob("*.parquet")
    return path


@pytest.mark.parametrize(("kind", "name", "change"), CASES, ids=[f"{kind}: {name}" for kind, name, _ in CASES])
def test_is_left_out(folder, kind, name, change):
    path = forge(victim(folder, kind), change)
    results = Results(folder)
    assert list(results.damage) == [path]
    assert results.damage[path].startswith(f"{path} ")
    assert [cell.monitor for cell in results.cells.values()] == ["Full"]


def test_an_unchanged_file_is_fine(folder):
    """The control: the forger's own tools do not make a difference."""
    for kind in ("curves", "tables"):
        forge(victim(folder, kind), lambda described, table: None)
    assert damage(folder) == []


def test_a_file_in_the_folder_of_another_kind(folder):
    curves, tables = victim(folder, "curves"), victim(folder, "tables")
    shutil.copy(curves, tables.parent)
    assert list(Results(folder).damage) == [tables.with_name(curves.name)]


def test_their_runs_are_done_again(undisturbed, folder):
    """All forgeries at once, each beside the true files, which are then removed."""
    for kind, _, change in CASES:
        shutil.copy(victim(undisturbed, kind), folder / "copy.parquet")
        forged = forge(folder / "copy.parquet", change)
        shutil.move(forged, folder / kind / "Walk" / "Ask" / "Naive" / forged.name)
    for kind in ("curves", "tables"):
        (folder / victim(undisturbed, kind).relative_to(undisturbed)).unlink()
    report = monmdp.run_sweep([SWEEP], folder)
    assert report.done == 3
    assert len(report.damaged) == len({message.split()[0] for message in report.damaged}) >= len(CASES) - 2
    assert damage(folder) == []
    assert_same(folder, undisturbed)


#: Consistent files with content that no training writes.
STRANGE: dict[str, Change] = {
    "a module": setting("environment", "strangemodule:X-v0"),
    "a parent folder": setting("agent", ".."),
    "brackets": setting("agent", "[bold]a[/x]"),
    "another problem": setting("problem", "0" * 64),
    "a strange discount": setting("discount", 7.0),
    "agent options of other types": setting("agent_options", {"beta_bar": "x", "alpha": {"a": [1]}}),
}
READERS = ("results", "results --verify", "results --compact", "claims", "figure returns", "report", "export")


@pytest.mark.parametrize("name", STRANGE)
def test_readers_survive_strange_content(folder, name, tmp_path, monkeypatch, capsys):
    """Nothing is imported by a name, nothing is written elsewhere, and no reader ends in a stack trace."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    sign = tmp_path / "imported"
    (tmp_path / "strangemodule.py").write_text(f"open({str(sign)!r}, 'w')")

    def change(described, table):
        table = STRANGE[name](described, table)
        for label in ("environment", "agent"):
            values = pa.array([described["settings"][label]] * len(table))
            table = table.set_column(table.column_names.index(label), label, values)
        return table

    for kind in ("curves", "tables"):
        forge(victim(folder, kind), change)
    for words in map(str.split, READERS):
        words.insert(2 if words[0] == "figure" else 1, str(folder))
        assert main(words) in (0, 2), words
        assert "Traceback" not in capsys.readouterr().err
    assert not sign.exists()
    assert {path.name for path in tmp_path.iterdir()} <= {"folder", "strangemodule.py", "exported"}
