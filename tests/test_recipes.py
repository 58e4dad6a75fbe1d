"""The recipes run without warnings, and filled-in rewards do what their pages say; needs their packages."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "examples" / "recipes"
#: Recipe → the packages that it needs.
NEEDS = {
    "sb3_cartpole": ("torch", "stable_baselines3"),
    "minigrid_dqn": ("torch", "stable_baselines3", "minigrid"),
    "vector_ppo": ("torch",),
    "mountain_car": (),
}
#: Recipe → largest return of a learner that takes hidden rewards as 0, and smallest of one that fills them in.
BOUNDS = {"sb3_cartpole": (100, 450), "minigrid_dqn": (0.1, 0.9), "vector_ppo": (100, 450)}


def rows_of(recipe: str, *options: str) -> dict[str, float]:
    """Learner → mean return with one limit of answers, as a recipe prints them."""
    for package in NEEDS[recipe]:
        pytest.importorskip(package)
    command = [sys.executable, "-W", "error", FOLDER / f"{recipe}.py", "--seeds", "1", *options]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2_000:]
    rows = re.findall(r"^\| (\w.+?) \| .+? \| [\d,]+ \| ([-.\d]+) \|", done.stdout, re.MULTILINE)
    return {learner: float(value) for learner, value in rows}


def test_every_recipe_is_tested():
    assert set(NEEDS) == {path.stem for path in FOLDER.glob("*.py")} - {"comparing"}


@pytest.mark.parametrize("recipe", NEEDS)
def test_recipes_run(recipe, tmp_path):
    picture = tmp_path / "new" / "picture.png"
    rows = rows_of(recipe, "--steps", "1024", "--budgets", "10", "--plot", str(picture))
    assert len(rows) == (3 if recipe == "mountain_car" else 2)
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
@pytest.mark.parametrize("recipe", BOUNDS)
def test_filled_in_rewards_succeed_where_zeros_fail(recipe):
    """If an answer costs more than it shows, a learner that takes hidden rewards as 0 has nothing to learn from."""
    zero, filled = rows_of(recipe, "--budgets", "0").values()
    assert zero <= BOUNDS[recipe][0]
    assert filled >= BOUNDS[recipe][1]
