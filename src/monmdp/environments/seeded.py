"""Random problems: environments drawn from a seed, always with a goal that can be reached."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Annotated, ClassVar, TypeVar

from monmdp import check
from monmdp.environments.base import ENVIRONMENTS, Environment, Step
from monmdp.environments.catalogue import MOVES, Cell, Empty, GridWorld, Parts
from monmdp.errors import MonMDPError
from monmdp.machine import check_memory
from monmdp.problem import OUTCOME_BYTES, SMALLER, Layout
from monmdp.rng import stream, uniform

T = TypeVar("T")
#: Sizes that are quick to draw.
States = Annotated[int, partial(check.whole, least=2, most=1_000)]
Actions = Annotated[int, partial(check.whole, least=2, most=100)]
Side = Annotated[int, partial(check.whole, least=2, most=100)]


class Draws:
    """The draws of a seed and a role, one after the other, from number `first` on."""

    def __init__(self, seed: int, role: str, first: int = 0) -> None:
        self._key, self._next = stream(seed, role), first

    def number(self) -> float:
        """A number in [0, 1)."""
        self._next += 1
        return uniform(self._key, self._next - 1)

    def whole(self, least: int, most: int) -> int:
        """An integer from `least` to `most`."""
        return least + int(self.number() * (most - least + 1))

    def pick(self, items: Sequence[T]) -> T:
        """One of some items."""
        return items[self.whole(0, len(items) - 1)]

    def several(self, items: Iterable[T], count: int) -> list[T]:
        """Different items, in random order."""
        left = list(items)
        return [left.pop(self.whole(0, len(left) - 1)) for _ in range(count)]


@ENVIRONMENTS.add
@dataclass(frozen=True)
class Garnet(Environment):
    """Random transitions and rewards (Archibald, McKinnon and Thomas, 1995). Every state can be reached; never ends.

    branching: number of next states of a pair, with random probabilities; 1 is deterministic.
    density: fraction of pairs with a reward, between -1 and 1; one pair has a reward of 1.
    """

    seed: check.Seed = 0
    n_states: States = 15
    n_actions: Actions = 3
    branching: check.Count = 3
    density: check.Probability = 0.3

    default_limit: ClassVar[int | None] = 100

    @property
    def states(self) -> Sequence[int]:
        return range(self.n_states)

    @property
    def actions(self) -> Sequence[str]:
        return tuple(f"action {number}" for number in range(self.n_actions))

    @cached_property
    def _steps(self) -> dict[tuple[int, str], list[Step]]:
        """All outcomes. In every state, one action may lead to the next state of a random cycle through all states."""
        if self.branching > self.n_states:
            raise MonMDPError(f"A Garnet with {self.n_states} states has a branching of at most {self.n_states}.")
        size = self.n_states * self.n_actions * self.branching
        check_memory(OUTCOME_BYTES * size, f"{self.name} with {size:,} outcomes", SMALLER)
        draws = Draws(self.seed, "problem")
        cycle = draws.several(self.states, self.n_states)
        onward = {state: (cycle[i - 1], draws.pick(self.actions)) for i, state in enumerate(cycle)}
        best = draws.pick(self.states), draws.pick(self.actions)
        steps = {}
        for pair in ((state, action) for state in self.states for action in self.actions):
            after = draws.several(self.states, self.branching)
            following, along = onward[pair[0]]
            if pair[1] == along and following not in after:
                after[0] = following
            cuts = [0.0, *sorted(draws.number() for _ in after[1:]), 1.0]
            value, rewarded = round(2.0 * draws.number() - 1.0, 2), draws.number() < self.density
            reward = 1.0 if pair == best else value if rewarded else 0.0
            chances = [high - low for low, high in pairwise(cuts)]
            steps[pair] = [Step(state, reward, chance) for state, chance in zip(after, chances, strict=True)]
        return steps

    def outcomes(self, state: int, action: str) -> Iterable[Step]:
        return self._steps[state, action]


@ENVIRONMENTS.add
@dataclass(frozen=True)
class Lock(Environment):
    """A combination lock: in each state one random action advances, all others lead back; the last one pays 1."""

    seed: check.Seed = 0
    length: States = 10
    n_actions: Actions = 3

    @property
    def default_limit(self) -> int:  # type: ignore[override]
        """The step limit for "auto"."""
        return max(50, 4 * self.length)

    @property
    def states(self) -> Sequence[int]:
        return range(self.length)

    @property
    def actions(self) -> Sequence[str]:
        return tuple(f"action {number}" for number in range(self.n_actions))

    @property
    def layout(self) -> Layout:
        return Layout(("." * (self.length - 1) + "C",), tuple((0, state) for state in self.states))

    @cached_property
    def code(self) -> Sequence[str]:
        """The action that advances in each state."""
        draws = Draws(self.seed, "problem")
        return [draws.pick(self.actions) for _ in self.states]

    def outcomes(self, state: int, action: str) -> Iterable[Step]:
        if action != self.code[state]:
            yield Step(0)
        elif state == self.length - 1:
            yield Step(state, reward=1.0, terminated=True)
        else:
            yield Step(state + 1)


@ENVIRONMENTS.add
@dataclass(frozen=True)
class RandomGrid(GridWorld):
    """Random tiles beside a path of empty cells from a random start to a large coin; no other path is shorter.

    tiles: kinds of tiles, equally probable; a repeated letter is more probable.
    density: fraction of the cells beside the path that have one.
    """

    seed: check.Seed = 0
    rows: Side = 6
    columns: Side = 6
    tiles: str = "##cTtP<>^v"
    density: check.Probability = 0.5

    default_limit = Empty.default_limit

    @cached_property
    def _drawn(self) -> tuple[Sequence[str], Cell]:
        """The map, and the start. The coin is at least half of the grid's longest way from it."""
        check.instance(self.tiles, str, f"The tiles of {type(self).__name__} must be text, one letter per tile")
        draws = Draws(self.seed, "problem")
        cells = [(row, column) for row in range(self.rows) for column in range(self.columns)]
        start = draws.pick(cells)
        way = [(cell[0] - start[0], cell[1] - start[1]) for cell in cells]
        far = [(down, right) for down, right in way if 2 * (abs(down) + abs(right)) >= self.rows + self.columns - 2]
        down, right = draws.pick(far)
        moves = ["DOWN" if down > 0 else "UP"] * abs(down) + ["RIGHT" if right > 0 else "LEFT"] * abs(right)
        path = [start]
        for move in draws.several(moves, len(moves)):
            path.append((path[-1][0] + MOVES[move][0], path[-1][1] + MOVES[move][1]))
        tile_of = {cell: draws.pick(self.tiles or ".") if draws.number() < self.density else "." for cell in cells}
        tile_of |= dict.fromkeys(path, ".") | {path[-1]: "C"}
        rows = ["".join(tile_of[row, column] for column in range(self.columns)) for row in range(self.rows)]
        return tuple(rows), start

    @property
    def map(self) -> Sequence[str]:
        """Rows of tile characters."""
        return self._drawn[0]

    @property
    def default_start(self) -> Cell:  # type: ignore[override]
        return self._drawn[1]


@ENVIRONMENTS.add
@dataclass(frozen=True)
class Maze(RandomGrid):
    """A slippery maze (`random_action` is 0.1): walls, small coins, and traps that cost 5 when they are entered."""

    tiles: str = "###XXc"
    random_action: check.Probability = 0.1


@ENVIRONMENTS.add
@dataclass(frozen=True)
class Layouts(Parts):
    """A new layout in every episode: one of n mazes with a large coin each, which the agent sees.

    size: rooms along a side; rooms and the passages between them are cells, 2 size - 1 along a side.
    """

    seed: check.Seed = 0
    n_layouts: Side = 3
    size: Side = 3

    @cached_property
    def parts(self) -> Sequence[Sequence[str]]:
        """The mazes."""
        draws = Draws(self.seed, "problem")
        return [_maze(draws, 2 * self.size - 1) for _ in range(self.n_layouts)]

    @property
    def default_start(self) -> Sequence[Cell]:  # type: ignore[override]
        return [(0, part * self.stride) for part in range(self.n_layouts)]

    @property
    def default_limit(self) -> int:  # type: ignore[override]
        return max(50, 8 * self.size**2)


def _maze(draws: Draws, side: int) -> Sequence[str]:
    """A maze without loops, by a random walk that goes back where it cannot go on, and a coin in one of its rooms."""
    path, rooms, passages = [(0, 0)], [(0, 0)], set()
    while path:
        row, column = path[-1]
        ways = [(row + 2 * down, column + 2 * right) for down, right in MOVES.values()]
        ways = [(r, c) for r, c in ways if 0 <= r < side and 0 <= c < side and (r, c) not in rooms]
        if not ways:
            path.pop()
            continue
        room = draws.pick(ways)
        passages.add(((row + room[0]) // 2, (column + room[1]) // 2))
        rooms.append(room)
        path.append(room)
    tile_of = dict.fromkeys((*rooms, *passages), ".") | {draws.pick(rooms[1:]): "C"}
    return ["".join(tile_of.get((row, column), "#") for column in range(side)) for row in range(side)]


@ENVIRONMENTS.add
@dataclass(frozen=True)
class DeepSea(Environment):
    """Every step goes down, and left or right; the bottom right corner pays 1 (bsuite, Osband and others, 2020).

    In each cell one of two actions, drawn from the seed, goes right, which costs 0.01 / size.
    """

    seed: check.Seed = 0
    size: Side = 10

    actions = ("A", "B")

    @property
    def default_limit(self) -> int:  # type: ignore[override]
        """The step limit for "auto"; every episode ends by then."""
        return self.size

    @property
    def states(self) -> Sequence[Cell]:
        return [(row, column) for row in range(self.size) for column in range(row + 1)]

    @cached_property
    def right(self) -> Mapping[Cell, str]:
        """The action that goes right in each cell."""
        draws = Draws(self.seed, "problem")
        return {cell: draws.pick(self.actions) for cell in self.states}

    @property
    def button(self) -> tuple[Cell, str]:
        """Halfway to the reward, and left of the way."""
        cell = self.size // 2, self.size // 2
        return cell, next(action for action in self.actions if action != self.right[cell])

    @property
    def layout(self) -> Layout:
        rows = ["." * (row + 1) + "#" * (self.size - row - 1) for row in range(self.size)]
        return Layout((*rows[:-1], rows[-1][:-1] + "C"), tuple(self.states))

    def outcomes(self, state: Cell, action: str) -> Iterable[Step]:
        (row, column), right, last = state, action == self.right[state], self.size - 1
        reward = float(column == last) - 0.01 / self.size if right else 0.0
        if row == last:
            yield Step(state, reward, terminated=True)
        else:
            yield Step((row + 1, column + 1 if right else max(column - 1, 0)), reward)
