"""The catalogue: grid worlds from text maps, with one row of TILES per kind of tile, and River Swim."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Annotated, Any, ClassVar, NamedTuple, Self

from monmdp import check
from monmdp.environments.base import ENVIRONMENTS, Environment, Step
from monmdp.errors import MonMDPError, shown
from monmdp.machine import check_memory
from monmdp.problem import OUTCOME_BYTES, SMALLER, Layout

Cell = tuple[int, int]

MOVES: dict[str, Cell] = {"LEFT": (0, -1), "DOWN": (1, 0), "RIGHT": (0, 1), "UP": (-1, 0), "STAY": (0, 0)}


class Tile(NamedTuple):
    """The behaviour of a cell.

    reward: for every action taken in the cell. collect: additional reward for STAY, which then ends the episode.
    stuck: probability that a move out of the cell fails. exit: the only action that leaves the cell.
    fall: reward for entering the cell, which then ends the episode.
    """

    name: str
    reward: float = 0.0
    collect: float | None = None
    stuck: float = 0.0
    exit: str | None = None
    wall: bool = False
    fall: float | None = None


TILES: dict[str, Tile] = {
    ".": Tile("empty"),
    "C": Tile("large coin", collect=1.0),
    "c": Tile("small coin", collect=0.1),
    "T": Tile("toxic", reward=-10.0),
    "t": Tile("mildly toxic", reward=-0.1),
    "~": Tile("quicksand", stuck=0.9),
    "<": Tile("one-way", exit="LEFT"),
    ">": Tile("one-way", exit="RIGHT"),
    "^": Tile("one-way", exit="UP"),
    "v": Tile("one-way", exit="DOWN"),
    "#": Tile("wall", wall=True),
    "P": Tile("pit", fall=-100.0),
    "X": Tile("trap", fall=-5.0),
    "k": Tile("key"),
    "D": Tile("door", wall=True),
}


@dataclass(frozen=True, kw_only=True)
class GridWorld(Environment):
    """A grid of tiles with the actions LEFT, DOWN, RIGHT, UP and STAY; a move off the grid has no effect.

    start: a cell (row, column), several with equal probability, or a mapping cell → probability.
    """

    start: Any = None

    default_limit: ClassVar[int | None] = 50
    default_start: ClassVar[Cell] = (0, 0)
    button_cell: ClassVar[Cell | None] = None
    named_regions: ClassVar[Mapping[str, Iterable[Cell]]] = {}

    def resolved(self) -> Self:
        chosen = super().resolved()
        return replace(chosen, start=self.default_start) if self.start is None else chosen

    @property
    def map(self) -> Sequence[str]:
        """Rows of tile characters."""
        raise MonMDPError(f"{type(self).__name__} does not declare its map.")

    @property
    def states(self) -> Sequence[Cell]:
        rows, owner = self.map, f"The map of {type(self).__name__}"
        if isinstance(rows, str) or not isinstance(rows, Sequence) or not rows or not rows[0]:
            raise MonMDPError(f"{owner} must be a list of rows of tiles, and not empty.")
        check.instance(rows[0], str, f"A row of {owner.lower()} must be text, one letter per tile")
        cells = len(rows) * len(rows[0])
        check_memory(OUTCOME_BYTES * cells * len(MOVES), f"{owner} with {cells:,} cells", SMALLER)
        for number, row in enumerate(rows):
            if not isinstance(row, str) or len(row) != len(rows[0]):
                raise MonMDPError(f"{owner} is ragged: row 0 has {len(rows[0])} tiles, row {number} is {shown(row)}.")
            for tile in row:
                if tile not in TILES:
                    raise MonMDPError(f"{owner} has {tile!r} in row {number}; tiles are {' '.join(TILES)}.")
        return [(row, column) for row in range(len(rows)) for column in range(len(rows[0]))]

    @property
    def actions(self) -> Sequence[str]:
        return tuple(MOVES)

    @property
    def starts(self) -> Any:
        weights = check.start_weights(self.resolved().start, self.states)
        for cell in set(weights).intersection(self.states):
            tile = self._tile(cell)
            if tile.wall or tile.fall is not None:
                raise MonMDPError(f"{type(self).__name__} cannot start in {cell}: it is a {tile.name}.")
        return weights

    @property
    def button(self) -> tuple[Hashable, str]:
        cell, action = super().button
        return self.button_cell or cell, action

    def outcomes(self, state: Cell, action: str) -> Iterable[Step]:
        tile = self._tile(state)
        reward, collected = tile.reward, action == "STAY" and tile.collect is not None
        if collected:
            reward += tile.collect or 0.0
        moved = self._neighbour(state, action) if tile.exit in (None, action) else state
        if self._tile(moved).wall:
            moved = state
        fall = self._tile(moved).fall if moved != state else None
        if tile.stuck:
            yield Step(state, reward, tile.stuck, collected)
        yield Step(moved, reward + (fall or 0.0), 1.0 - tile.stuck, collected or fall is not None)

    @property
    def regions(self) -> Mapping[str, Iterable[Hashable]]:
        cells: dict[str, list[Hashable]] = {}
        for cell in self.states:
            cells.setdefault(self._tile(cell).name, []).append(cell)
        return {**cells, **self.named_regions}

    @property
    def layout(self) -> Layout:
        return Layout(tuple(self.map), tuple(self.states), tuple((symbol, tile.name) for symbol, tile in TILES.items()))

    def _tile(self, cell: Cell) -> Tile:
        return TILES[self.map[cell[0]][cell[1]]]

    def _neighbour(self, cell: Cell, action: str) -> Cell:
        row, column = cell[0] + MOVES[action][0], cell[1] + MOVES[action][1]
        inside = 0 <= row < len(self.map) and 0 <= column < len(self.map[0])
        return (row, column) if inside else cell


@dataclass(frozen=True)
class Grid(GridWorld):
    """A grid from a given map: `Grid([".T.", "..C"], start=(0, 0))`."""

    map: Sequence[str] = ()


@ENVIRONMENTS.add
@dataclass(frozen=True)
class Empty(GridWorld):
    """A small coin bottom left and a large one bottom right, in any size."""

    rows: check.Size = 6
    columns: Annotated[int, partial(check.whole, least=2, most=check.LARGEST_SIZE)] = 6

    @cached_property
    def map(self) -> Sequence[str]:
        """Rows of tile characters."""
        return ("." * self.columns,) * (self.rows - 1) + ("c" + "." * (self.columns - 2) + "C",)

    @property
    def default_limit(self) -> int:  # type: ignore[override]
        return max(50, 4 * (self.rows + self.columns))


def _catalogue(name: str, doc: str, rows: str, limit: int = 50, start: Cell = (0, 0), **more: Any) -> type[GridWorld]:
    """A registered environment class from one row of the catalogue."""
    options = {"map": tuple(rows.split()), "default_limit": limit, "default_start": start, **more}
    declared = type(name, (GridWorld,), {"__doc__": doc, "__module__": __name__, **options})
    return ENVIRONMENTS.add(dataclass(frozen=True)(declared))  # type: ignore[return-value]


Loop = _catalogue("Loop", "The large coin is near; a one-way loop wastes time.", ".<. .>^ ..C")
Hazard = _catalogue("Hazard", "Toxic clouds, quicksand and distracting coins.", ".cTC .T.. .~c. ....")
OneWay = _catalogue("OneWay", "The large coin is behind mildly toxic clouds.", ".<<< cttC .<<<")


@ENVIRONMENTS.add
@dataclass(frozen=True)
class Corridor(GridWorld):
    """Twenty cells in a row, or any number: deep exploration."""

    length: Annotated[int, partial(check.whole, least=2, most=check.LARGEST_SIZE)] = 20

    @cached_property
    def map(self) -> Sequence[str]:
        """Rows of tile characters."""
        return ("." * (self.length - 1) + "C",)

    @property
    def default_limit(self) -> int:  # type: ignore[override]
        return max(200, 4 * self.length)


TwoRoom2x11 = _catalogue(
    "TwoRoom2x11",
    "Two rooms, a small coin in one, a large one in the other.",
    "c...>v<...C ...........",
    limit=200,
    start=(1, 5),
    button_cell=(1, 5),
)
TwoRoom3x5 = _catalogue("TwoRoom3x5", "Two rooms with quicksand in the door.", "..<.C ..~.. .....")
Walk = _catalogue("Walk", "The paper's Figure 1: a small coin nearby, a large one far away.", "c.....C", start=(0, 1))
Bottleneck = _catalogue(
    "Bottleneck",
    "One gap in a toxic column; region 'column' is often never observable.",
    "..T... ..T.T. ...... ..T... ..T... c.T..C",
    named_regions={"column": ((0, 2), (1, 2), (3, 2), (4, 2), (5, 2))},
)
Penalty = _catalogue("Penalty", "A toxic column between start and coin.", ".TC .T. ...")
Quicksand = _catalogue("Quicksand", "Toxic clouds, and quicksand on the detour.", "..TC ..T. .~.. ....")
Full = _catalogue("Full", "Every kind of tile at once.", "..cTC ..T.. >.~c. ^....")
Barrier = _catalogue(
    "Barrier", "The coin is fenced by one-way cells, open on one side.", "..... .<^>. .<C.. .<v>. ....."
)
Cliff = _catalogue("Cliff", "Walk along the pits to the coin.", ".PPPPPPPPPPC ............ ............ ............")
DangerMaze = _catalogue("DangerMaze", "Pits, toxic clouds and walls.", ".PPP.. ..TT.# .P.#.# .T.... ...PPC")


@dataclass(frozen=True, kw_only=True)
class Parts(GridWorld):
    """Several maps of the same shape, side by side with a wall between them; the agent sees the one in which it is."""

    @property
    def parts(self) -> Sequence[Sequence[str]]:
        """A map per part."""
        raise MonMDPError(f"{type(self).__name__} does not declare its parts.")

    @cached_property
    def map(self) -> Sequence[str]:
        """Rows of tile characters."""
        return tuple("#".join(rows) for rows in zip(*self.parts, strict=True))

    @property
    def states(self) -> Sequence[Cell]:
        return [cell for cell in super().states if not self._tile(cell).wall]

    @property
    def stride(self) -> int:
        """The number of columns from a cell to the same cell of the next part."""
        return len(self.parts[0][0]) + 1

    def same_place(self, state: Cell) -> Sequence[Cell]:
        row, column = state[0], state[1] % self.stride
        return [cell for cell in self.states if (cell[0], cell[1] % self.stride) == (row, column)]

    @property
    def layout(self) -> Layout:
        return replace(super().layout, part=self.stride - 1)


@ENVIRONMENTS.add
@dataclass(frozen=True)
class KeyDoor(Parts):
    """A large coin behind a door, which opens for an agent that has entered the cell of the key; a small coin nearby.

    The map has two parts: on the left the agent has no key, on the right it has the key.
    """

    size: Annotated[int, partial(check.whole, least=3, most=1_000)] = 5

    @cached_property
    def parts(self) -> Sequence[Sequence[str]]:
        """Without the key, and with it."""
        middle = self.size // 2
        rows = [["."] * middle + ["#"] + ["."] * (self.size - middle - 1) for _ in range(self.size)]
        rows[0][middle], rows[middle][middle - 1], rows[-1][0], rows[-1][-1] = "DckC"
        locked = ["".join(row) for row in rows]
        return locked, [row.translate({ord(tile): "." for tile in "Dk"}) for row in locked]

    @property
    def default_limit(self) -> int:  # type: ignore[override]
        return max(50, 16 * self.size)

    def outcomes(self, state: Cell, action: str) -> Iterable[Step]:
        for step in super().outcomes(state, action):
            cell: Any = step.next_state
            taken = self.map[cell[0]][cell[1]] == "k"
            yield step._replace(next_state=(cell[0], cell[1] + self.stride)) if taken else step


@ENVIRONMENTS.add
@dataclass(frozen=True)
class RiverSwim(Environment):
    """Six states in a row; the current pushes left, the large reward is on the right. Never ends."""

    default_limit: ClassVar[int | None] = 200

    states = range(6)
    actions = ("LEFT", "RIGHT")
    starts = (1, 2)
    button = (0, "LEFT")
    layout = Layout(("======",), tuple((0, column) for column in states))

    def outcomes(self, state: int, action: str) -> Iterable[Step]:
        last = self.states[-1]
        if action == "LEFT":
            yield Step(max(state - 1, 0), 0.01 if state == 0 else 0.0)
        elif state == 0:
            yield Step(1, probability=0.6)
            yield Step(0, probability=0.4)
        elif state == last:
            yield Step(last, reward=1.0, probability=0.6)
            yield Step(last - 1, probability=0.4)
        else:
            yield Step(state + 1, probability=0.35)
            yield Step(state, probability=0.60)
            yield Step(state - 1, probability=0.05)
