"""Plug-ins of other packages: discovery, use by name, and isolation of broken ones."""

from __future__ import annotations

import json
import warnings
from importlib.util import find_spec
from pathlib import Path

import pytest
from plugin_packages import EXAMPLE, install_example, run_with, write_package

import monmdp
from monmdp.cli import main
from monmdp.environments import Environment
from monmdp.registry import BrokenPluginWarning, Registry

HELLO = "from monmdp import Environment\nclass Pond(Environment):\n    'A pond.'\n"


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    return install_example(tmp_path_factory.mktemp("example"))


USE = """
import json, sys, gymnasium, monmdp
assert not any(name.startswith("monmdp_ladder") for name in sys.modules), "imported before it was asked for"
assert "ladder" in monmdp.ENVIRONMENTS and "Toss" in monmdp.MONITORS
assert "monmdp_ladder.ladder" not in sys.modules, "asking whether it is there is no reason to import it"
env = gymnasium.make("monmdp/Ladder-v0", monitor="Toss(cost=0.0)", rungs=2, slip=0.0)
env.reset(seed=0)
ends = [env.step({"env": 1, "monitor": 1})[2] for _ in range(3)]
many = gymnasium.make_vec("monmdp/Ladder-v0", num_envs=3, monitor="Toss")
problem = monmdp.make("ladder(rungs=3, slip=0.0)", "toss")
curves = monmdp.train(problem, "curious", seeds=4, steps=3000, points=10)
sweep = monmdp.Sweep(["Ladder"], ["Toss", "Full"], ["Curious"], 2, steps=200, points=5)
report = monmdp.run_sweep([sweep], sys.argv[1])
print(json.dumps({
    "ends": ends, "many": many.num_envs, "optimum": monmdp.solve(problem).optimal_return,
    "solved": float(curves.solved.mean()), "agent": curves.agent, "runs": report.done, "failures": report.failures,
    "names": sorted(set(monmdp.load(sys.argv[1])["environment"].to_pylist())),
}))
"""


def test_the_example_is_used_by_name(example, tmp_path):
    """Solved by hand: three climbs, and the reward at the fourth step."""
    done = run_with(example, "-W", "error", "-c", USE, str(tmp_path / "results"))
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["ends"] == [False, False, True]
    assert result["many"] == 3
    assert result["optimum"] == pytest.approx(0.99**3)
    assert result["solved"] == 1.0
    assert result["agent"] == "Curious"
    assert (result["runs"], result["failures"], result["names"]) == (4, [], ["Ladder"])


def test_the_example_on_the_command_line(example):
    listed = run_with(example, "-m", "monmdp", "list")
    assert (listed.returncode, listed.stderr) == (0, "")
    for name in ("Ladder", "Toss", "Curious"):
        (row,) = [line for line in listed.stdout.splitlines() if line.startswith(name)]
        assert "(monmdp-ladder 0.1.0)" in row
    assert "rungs=4, slip=0.1" in listed.stdout
    listed = json.loads(run_with(example, "-m", "monmdp", "list", "--json").stdout)
    assert listed["plugins"] == dict.fromkeys(["Ladder", "Toss", "Curious"], "monmdp-ladder 0.1.0")
    assert listed["broken"] == []
    solved = run_with(example, "-m", "monmdp", "solve", "Ladder(rungs=1, slip=0.0)", "Toss", "--json")
    assert json.loads(solved.stdout)["optimal_return"] == pytest.approx(0.99)
    missed = run_with(example, "-m", "monmdp", "solve", "Lader")
    assert "Did you mean 'Ladder'?" in missed.stderr


@pytest.mark.slow
@pytest.mark.skipif(find_spec("ray") is None, reason="Ray is an extra")
def test_the_example_on_ray(example, tmp_path):
    words = (
        "-m", "monmdp", "reproduce", "--envs", "Ladder", "--monitors", "Toss", "--agents", "Curious",
        "--seeds", "2", "--steps", "200", "--points", "5", "--out",
    )  # fmt: skip
    quiet = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
    done = run_with(example, *words, str(tmp_path / "ray"), "--on", "ray", **quiet)
    assert done.returncode == 0, done.stdout + done.stderr
    assert monmdp.load(tmp_path / "ray").num_rows == 2 * 6


#: Package → its code, its entry points, and why it cannot be used.
BROKEN = {
    "no-import": ("import no_such_module\n", {"environments": "Bog"}, "ModuleNotFoundError: No module named"),
    "no-end": ("raise SystemExit(3)\n", {"environments": "Fen"}, "SystemExit: 3"),
    "no-base": ("raise BaseException('swamp')\n", {"environments": "Marsh"}, "BaseException: swamp"),
    "no-class": ("", {"environments": "Lake"}, "has no attribute 'Lake'"),
    "no-type": ("Moor = 3\n", {"environments": "Moor"}, "is not a subclass of monmdp.Environment"),
    "no-kind": (HELLO, {"monitors": "Pond"}, "is not a subclass of monmdp.Monitor"),
    "no-name": (HELLO, {"environments": "Pool = no_name:Pond"}, "must have the name of its class, Pond"),
    "no-room": (HELLO.replace("Pond", "Empty"), {"environments": "Empty"}, "monmdp itself has another environment"),
    "no-case": (HELLO.replace("Pond", "ASK"), {"monitors": "ASK"}, "monmdp itself has another monitor"),
}


@pytest.fixture(scope="module")
def broken_run(tmp_path_factory):
    """Names, messages and categories of warnings of a process that uses all the broken packages twice."""
    target = tmp_path_factory.mktemp("broken") / "target"
    for package, (code, entries, _) in BROKEN.items():
        write_package(target, package, code, **entries)
    script = (
        "import json, warnings, monmdp\n"
        "with warnings.catch_warnings(record=True) as caught:\n"
        "    warnings.simplefilter('always')\n"
        "    for _ in range(2):\n"
        "        names = [*monmdp.ENVIRONMENTS, *monmdp.MONITORS, *monmdp.AGENTS]\n"
        "        monmdp.make('Empty', 'Ask')\n"
        "print(json.dumps([names, [str(w.message) for w in caught], [w.category.__name__ for w in caught]]))\n"
    )
    done = run_with(target, "-c", script)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("package", BROKEN)
def test_a_broken_plugin_is_reported_once(package, broken_run):
    (message,) = [message for message in broken_run[1] if f"of the package {package} 1.0 cannot be used: " in message]
    assert BROKEN[package][2] in message
    assert message.endswith(".")


def test_broken_plugins_do_not_affect_others(broken_run):
    names, messages, categories = broken_run
    assert names == [*monmdp.ENVIRONMENTS, *monmdp.MONITORS, *monmdp.AGENTS]
    assert len(messages) == len(BROKEN)
    assert set(categories) == {"BrokenPluginWarning"}


def discovered(target: Path, monkeypatch: pytest.MonkeyPatch) -> Registry[Environment]:
    """A registry of environments as a new process would have it."""
    monkeypatch.syspath_prepend(str(target))
    return Registry("environment", Environment)


def test_looking_up_a_broken_plugin_raises_its_error(tmp_path, monkeypatch):
    registry = discovered(write_package(tmp_path / "t", "sad-pond", "1 / 0", environments="Pond"), monkeypatch)
    for _ in range(2):
        with pytest.raises(monmdp.MonMDPError, match=r"'Pond' of the package sad-pond 1\.0 .* ZeroDivisionError"):
            registry.find("pond")


def test_two_packages_with_one_name(tmp_path, monkeypatch):
    """The first by name is used, with a warning about the other."""
    target = write_package(tmp_path / "t", "b-pond", HELLO, environments="Pond")
    registry = discovered(write_package(target, "a-pond", HELLO, environments="Pond"), monkeypatch)
    with pytest.warns(BrokenPluginWarning, match=r"of the package b-pond 1\.0 cannot be used: a-pond has another"):
        assert registry.find("Pond").__module__ == "a_pond"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(registry) == ["Pond"]


def test_a_plugin_may_also_register_itself(tmp_path, monkeypatch):
    """A class may have the registry's decorator in addition to its entry point."""
    code = HELLO.replace("class Pond", "from registered import registry\n@registry.add\nclass Pond")
    registry = discovered(write_package(tmp_path / "t", "twice-pond", code, environments="Pond"), monkeypatch)
    (tmp_path / "t" / "registered.py").write_text("registry = None\n")
    import registered  # type: ignore[import-not-result]

    registered.registry = registry
    assert registry.find("Pond").__name__ == "Pond"
    assert registry.broken() == {}


def test_a_corrupt_list_of_entry_points_is_ignored(tmp_path, monkeypatch):
    """Plug-ins of other packages still work."""
    target = write_package(tmp_path / "t", "a-garbled", "", environments="Pond")
    (target / "a_garbled-1.0.dist-info" / "entry_points.txt").write_text("[monmdp.environments]\nPond\n")
    registry = discovered(write_package(target, "b-pond", HELLO, environments="Pond"), monkeypatch)
    assert registry.find("Pond").__module__ == "b_pond"


def test_a_broken_package_without_metadata_is_reported(tmp_path, monkeypatch):
    target = write_package(tmp_path / "t", "sad-pond", "1 / 0", environments="Pond")
    (target / "sad_pond-1.0.dist-info" / "METADATA").unlink()
    with pytest.raises(monmdp.MonMDPError, match=r"of the package without a name \(no version\) cannot be used"):
        discovered(target, monkeypatch).find("Pond")


def test_list_shows_what_is_broken(tmp_path, capsys):
    target = write_package(tmp_path / "t", "sad-pond", "import no_such_module", environments="Pond", agents="Fish")
    listed = run_with(target, "-m", "monmdp", "list")
    assert (listed.returncode, listed.stderr) == (0, "")
    *_, first, second = listed.stdout.splitlines()
    assert first.startswith("The environment 'Pond' of the package sad-pond 1.0 cannot be used: ModuleNotFoundError")
    assert second.startswith("The agent 'Fish' of the package sad-pond 1.0 cannot be used: ModuleNotFoundError")
    assert len(json.loads(run_with(target, "-m", "monmdp", "list", "--json").stdout)["broken"]) == 2
    assert main(["list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["broken"] == []


def test_the_docs_show_the_example_itself():
    shown = (EXAMPLE.parent.parent / "docs" / "plugins.md").read_text()
    for source in (EXAMPLE / "monmdp_ladder").glob("[a-z]*.py"):
        assert source.read_text().split('"""\n\n', 1)[1] in shown
    entries = (EXAMPLE / "pyproject.toml").read_text()
    assert entries[entries.index("[project.entry-points") :] in shown
