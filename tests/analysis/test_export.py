"""Exports are read back: TensorBoard files by its own reader, W&B files by a reader of its log format."""

from __future__ import annotations

import json
import math
import struct
import zlib
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import monmdp
from monmdp.cli import main
from monmdp.study.export import runs_of, to_tensorboard, to_wandb
from monmdp.training.metrics import METRICS

needs_tensorboard = pytest.mark.skipif(find_spec("tensorboard") is None, reason="TensorBoard is an extra: loggers")
needs_wandb = pytest.mark.skipif(find_spec("wandb") is None, reason="Weights & Biases is an extra: loggers")
SCALARS = [metric.column for metric in METRICS]


@pytest.fixture(scope="module")
def curves():
    return monmdp.train(monmdp.make("Loop", "Ask(cost=0.5)"), "Directed", seeds=3, steps=300, points=10)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("results")
    sweep = monmdp.Sweep(["Loop"], ["Full", "Ask"], ["Naive", "Directed(beta_bar=0.1)"], 2, steps=300, points=10)
    monmdp.run_sweep([sweep], place)
    return place


def test_runs_of_curves(curves):
    runs = list(runs_of(curves))
    assert [run.name for run in runs] == [f"Loop + Ask(cost=0.5) / Directed / seed {seed}" for seed in range(3)]
    np.testing.assert_array_equal(runs[1].scalars["return"], curves.returns[1])
    np.testing.assert_array_equal(runs[2].steps, curves.steps)
    assert runs[1].config["seed"] == 1
    assert runs[1].summary["optimal_return"] == curves.optimal_return
    assert [run.summary["solved"] for run in runs] == curves.solved.tolist()


def test_the_mean_of_all_seeds(curves):
    (run,) = runs_of(curves, average=True)
    assert run.name.endswith("mean of 3 seeds")
    for name in ("observed", "beta", "explored"):
        np.testing.assert_allclose(run.scalars[name], getattr(curves, name).mean(0))
    assert run.summary["final_return"] == pytest.approx(curves.final_returns.mean())
    assert run.config["seeds"] == 3


@pytest.mark.parametrize(
    ("points", "kept"),
    [(1, [300]), (2, [120, 300]), (11, list(range(0, 301, 30))), (50, list(range(0, 301, 30)))],
)
def test_fewer_points(curves, points, kept):
    (run, *_) = runs_of(curves, points=points)
    assert run.steps.tolist() == kept
    assert len(run.scalars["return"]) == len(kept)


def test_a_folder_gives_what_the_store_holds(folder):
    runs = {run.name: run for run in runs_of(folder)}
    assert len(runs) == 2 * 2 * 2
    run = runs["Loop + Ask / Directed(beta_bar=0.1) / seed 1"]
    assert run.config["beta_bar"] == 0.1
    assert run.config["steps"] == 300
    rows = monmdp.load(folder).to_pylist()
    mine = [row for row in rows if (row["monitor"], row["agent"], row["seed"]) == ("Ask", run.agent, 1)]
    for name in SCALARS:
        assert run.scalars[name].tolist() == [row[name] for row in mine]
    assert "beta" not in runs["Loop + Ask / Naive / seed 0"].scalars  # Naive has no β


@needs_tensorboard
def test_tensorboard_reads_it_back(curves, tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.plugins.hparams.metadata import parse_session_start_info_plugin_data

    assert to_tensorboard(curves, tmp_path / "events") == 3
    places = sorted((tmp_path / "events").glob("*/*/*"))
    assert [place.name for place in places] == ["seed_0", "seed_1", "seed_2"]
    read = EventAccumulator(str(places[2]), size_guidance={"scalars": 0})
    read.Reload()
    assert set(SCALARS) <= set(read.Tags()["scalars"])
    for name in SCALARS:
        written = read.Scalars(name)
        assert [event.step for event in written] == curves.steps.tolist()
        expected = curves.returns[2] if name == "return" else getattr(curves, name)[2]
        np.testing.assert_allclose([event.value for event in written], expected, rtol=1e-6)
    assert read.Scalars("end/optimal_return")[0].value == pytest.approx(curves.optimal_return)
    parameters = parse_session_start_info_plugin_data(
        read.SummaryMetadata("_hparams_/session_start_info").plugin_data.content
    ).hparams
    assert parameters["agent"].string_value == "Directed"
    assert parameters["seed"].number_value == 2


@pytest.mark.parametrize("to", ["tensorboard", "wandb"])
def test_the_command_passes_its_options_on(to, tmp_path, capsys, monkeypatch):
    calls = []
    write = lambda *arguments, progress: calls.append(arguments) or 7  # noqa: E731
    monkeypatch.setattr(f"monmdp.study.export.to_{to}", write)
    assert main(["export", "here", "--to", to, "--out", "there", "--average", "--points", "3"]) == 0
    assert main(["export", "here", "--to", to]) == 0
    assert calls == [(Path("here"), Path("there"), True, 3), (Path("here"), Path("exported"), False, None)]
    assert capsys.readouterr().out.startswith("Written to there: 7 runs")


@needs_tensorboard
def test_tensorboard_from_the_command_line(folder, tmp_path, capsys):
    from tensorboard.backend.event_processing.event_multiplexer import EventMultiplexer

    words = ["export", str(folder), "--to", "tensorboard", "--out", str(tmp_path / "events"), "--average"]
    assert main(words) == 0
    assert ": 4 runs;" in capsys.readouterr().out
    read = EventMultiplexer().AddRunsFromDirectory(str(tmp_path / "events"))
    read.Reload()
    assert set(read.Runs()) == {
        f"Loop+{monitor}/{agent}/mean_of_2_seeds"
        for monitor in ("Full", "Ask")
        for agent in ("Naive", "Directed_beta_bar_0.1")
    }
    assert main(words) == 2
    assert "not empty" in capsys.readouterr().err


def records(path: Path) -> Iterator[bytes]:
    """The records of a W&B file: a LevelDB log of blocks of 32 KiB behind a header of 7 bytes, with checksums."""
    content, place, record = path.read_bytes(), 7, b""
    assert content[:4] == b":W&B"
    while place + 7 <= len(content):
        if 32768 - place % 32768 < 7:
            place += 32768 - place % 32768
            continue
        checksum, length, kind = struct.unpack("<IHB", content[place : place + 7])
        part = content[place + 7 : place + 7 + length]
        assert zlib.crc32(bytes([kind]) + part) == checksum
        place += 7 + length
        record += part
        if kind in (1, 4):  # whole, or the last part
            yield record
            record = b""


def read_wandb(folder: Path) -> list[dict[str, Any]]:
    """Every run of a folder: its name, config, rows of history and summary."""
    import wandb
    from wandb.proto.wandb_internal_pb2 import Record

    wandb.teardown()  # waits for the process that writes the files
    runs = []
    for path in sorted(folder.rglob("*.wandb")):
        run: dict[str, Any] = {"history": [], "summary": {}, "path": path}
        for content in records(path):
            record = Record()
            record.ParseFromString(content)
            kind = record.WhichOneof("record_type")
            if kind == "run":
                run.update(name=record.run.display_name, id=record.run.run_id, project=record.run.project)
                run.update(group=record.run.run_group, job_type=record.run.job_type)
                run["config"] = {item.key: json.loads(item.value_json) for item in record.run.config.update}
            elif kind == "history":
                items = record.history.item
                run["history"].append({(i.key or i.nested_key[0]): json.loads(i.value_json) for i in items})
            elif kind == "summary":
                run["summary"].update(
                    {(i.key or i.nested_key[0]): json.loads(i.value_json) for i in record.summary.update}
                )
        runs.append(run)
    return runs


@needs_wandb
def test_wandb_offline_reads_it_back(curves, tmp_path, monkeypatch):
    for name in ("WANDB_API_KEY", "WANDB_MODE", "WANDB_DIR"):
        monkeypatch.delenv(name, raising=False)
    assert to_wandb(curves, tmp_path / "w") == 3
    runs = {run["config"]["seed"]: run for run in read_wandb(tmp_path / "w")}
    assert sorted(runs) == [0, 1, 2]
    run = runs[1]
    assert (run["name"], run["project"]) == ("Loop + Ask(cost=0.5) / Directed / seed 1", "monmdp")
    assert run["config"]["agent"] == "Directed"
    rows = [row for row in run["history"] if "return" in row]
    assert [row["_step"] for row in rows] == curves.steps.tolist()
    for name in SCALARS:
        values = curves.returns[1] if name == "return" else getattr(curves, name)[1]
        written = [row.get(name, math.nan) for row in rows]
        np.testing.assert_array_equal(written, values)
    assert run["summary"]["optimal_return"] == curves.optimal_return
    files = {path.name for path in (tmp_path / "w").rglob("*") if path.is_file()}
    assert not files & {"requirements.txt", "wandb-metadata.json"}, "nothing about the machine"


@needs_wandb
def test_wandb_from_the_command_line(folder, tmp_path, capsys):
    words = ["export", str(folder), "--to", "wandb", "--average", "--points", "2", "--out"]
    for name in ("one", "two"):
        assert main([*words, str(tmp_path / name)]) == 0
    assert ": 4 runs;" in capsys.readouterr().out
    one, two = read_wandb(tmp_path / "one"), read_wandb(tmp_path / "two")
    assert {run["id"] for run in one} == {run["id"] for run in two}
    assert len({run["id"] for run in one}) == 4
    assert all(len(run["history"]) == 2 for run in one)
    assert {f"{run['group']} / {run['job_type']} / mean of 2 seeds" for run in one} == {run["name"] for run in one}


@pytest.mark.parametrize(("module", "write"), [("tensorboard", to_tensorboard), ("wandb", to_wandb)])
def test_without_the_extra(module, write, curves, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, module, None)
    monkeypatch.setitem(__import__("sys").modules, f"{module}.summary", None)
    with pytest.raises(monmdp.MonMDPError, match=r"pip install 'monmdp\[loggers\]'"):
        write(curves, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@needs_tensorboard
def test_a_folder_without_results(tmp_path, capsys):
    assert main(["export", str(tmp_path / "nothing"), "--out", str(tmp_path / "out")]) == 2
    assert "no results folder" in capsys.readouterr().err
