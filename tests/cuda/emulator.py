"""A GPU in plain Python: memory is the host's, and kernels run as greenlets, one per thread, that meet at barriers.

Outside the functions of BY_LANES, all lanes of a training warp do the same, and one greenlet stands for all of them;
inside, each lane has its own, and all must return the same. A barrier that not all threads reach is an error.
"""

from __future__ import annotations

import ctypes
import types
from collections.abc import Callable
from typing import Any

import numpy as np
from greenlet import getcurrent, greenlet

WARP = 32
#: Functions in which the lanes of a warp differ; the position of the argument `lane`, if there is one.
BY_LANES = {
    "choose_best": None, "largest": None, "smallest": None, "confidence_bounds": None, "copy_state": None,
    "choose_filled": None, "keep_policy": 3,
}  # fmt: skip


class Thread(greenlet):
    """One thread of a block; of a warp that one greenlet represents, the first lane."""

    x = 0
    block = 0
    alone = False


def meet(kind: str, value: Any = None) -> Any:
    """Wait for all others of the warp or block; returns what the scheduler computes."""
    return getcurrent().parent.switch((kind, value))


def run_threads(threads: list[Thread], starts: list[Callable[[], Any]], block_wide: Callable[[], None]) -> list[Any]:
    """Run threads to the end: warps meet at their operations, everybody meets at `block`; returns their results."""
    waiting = {thread: start() for thread, start in zip(threads, starts, strict=True)}
    while not all(thread.dead for thread in threads):
        progress = False
        warps: dict[int, list[Thread]] = {}
        for thread in threads:
            warps.setdefault(thread.x // WARP, []).append(thread)
        for members in warps.values():
            kinds = {waiting[thread][0] for thread in members if not thread.dead}
            if len(kinds) == 1 and "block" not in kinds and not any(thread.dead for thread in members):
                values = [waiting[thread][1] for thread in members]
                for lane, thread in enumerate(members):
                    waiting[thread] = thread.switch(collective(kinds.copy().pop(), values, lane))
                progress = True
        live = [thread for thread in threads if not thread.dead]
        if not progress and live:
            assert len(live) == len(threads), "some threads ended, others wait"
            assert all(waiting[thread][0] == "block" for thread in threads), "threads wait at different barriers"
            block_wide()
            for thread in threads:
                waiting[thread] = thread.switch(None)
    return [waiting[thread] for thread in threads]


def collective(kind: str, values: list[Any], lane: int) -> Any:
    """The result of a warp operation for a lane."""
    if kind == "ballot":
        return sum(1 << i for i, value in enumerate(values) if value)
    if kind == "any":
        return any(values)
    if kind == "shfl":
        return values[values[lane][1]][0]
    if kind == "shfl_xor":
        return values[lane ^ values[lane][1]][0]
    return None


class Block:
    """What device code calls `cuda`, for the threads of one block."""

    def __init__(self, number: int, threads: int, shared: int) -> None:
        self.blockIdx = types.SimpleNamespace(x=number)
        self.blockDim = types.SimpleNamespace(x=threads)
        self.shared = types.SimpleNamespace(array=self._shared)
        self.local = types.SimpleNamespace(array=np.zeros)
        self.atomic = types.SimpleNamespace(add=self._add)
        self._arrays: dict[Any, np.ndarray] = {0: np.zeros(shared // 8 + 1, np.int64)}

    @property
    def threadIdx(self) -> Any:  # noqa: N802
        return types.SimpleNamespace(x=getcurrent().x)  # type: ignore[attr-defined]

    def _shared(self, length: int, dtype: Any) -> np.ndarray:
        return self._arrays.setdefault(length, np.zeros(length, dtype))

    @staticmethod
    def _add(array: np.ndarray, index: int, value: int) -> Any:
        before = array[index]
        array[index] += value
        return before

    @staticmethod
    def alone() -> bool:
        return bool(getcurrent().alone)  # type: ignore[attr-defined]

    def syncwarp(self, mask: int) -> None:
        if not self.alone():
            meet("sync")

    def syncthreads(self) -> None:
        meet("block")

    def any_sync(self, mask: int, value: Any) -> Any:
        return value if self.alone() else meet("any", value)

    def ballot_sync(self, mask: int, value: Any) -> int:
        return int(meet("ballot", value))

    def shfl_sync(self, mask: int, value: Any, lane: int) -> Any:
        return value if self.alone() else meet("shfl", (value, lane))

    def shfl_xor_sync(self, mask: int, value: Any, distance: int) -> Any:
        return meet("shfl_xor", (value, distance))

    @staticmethod
    def popc(value: Any) -> int:
        return int(value).bit_count()

    @staticmethod
    def ffs(value: Any) -> int:
        return (int(value) & -int(value)).bit_length()


def quiet(function: Any) -> Any:
    """The function without NumPy's warnings about integers that overflow, as random streams do on purpose."""

    def call(*arguments: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*arguments)

    return call


def by_lanes(function: Any, lane_argument: int | None) -> Any:
    """The function, run by 32 greenlets if it is called by one that represents a warp."""

    def call(*arguments: Any) -> Any:
        caller = getcurrent()
        if not caller.alone:  # type: ignore[attr-defined]
            return function(*arguments)

        def start(thread: Thread) -> Any:
            given = list(arguments)
            if lane_argument is not None:
                given[lane_argument] = thread.x
            return thread.switch(*given)

        threads = []
        for lane in range(WARP):
            threads.append(Thread(quiet(function)))
            threads[-1].x = lane
        results = run_threads(
            threads, [lambda thread=thread: start(thread) for thread in threads], lambda: meet("block")
        )
        assert len({repr(result) for result in results}) == 1, function.__name__
        return results[0]

    return call


class Pointer:
    """Items at an address, without bounds."""

    def __init__(self, address: int) -> None:
        self.address = int(address)

    def __getitem__(self, item: int) -> np.float32:
        return np.float32(ctypes.c_float.from_address(self.address + 4 * int(item)).value)

    def __setitem__(self, item: int, value: Any) -> None:
        ctypes.c_float.from_address(self.address + 4 * int(item)).value = value


def array_at(address: int, shape: tuple[int, ...], dtype: Any) -> Any:
    """An array at an address of host memory."""
    kind = np.dtype(dtype)
    if shape == (1,) and kind == np.float32:
        return Pointer(address)
    size = int(np.prod(shape)) * kind.itemsize
    if size == 0:
        return np.zeros(shape, kind)
    content = (ctypes.c_char * size).from_address(int(address))
    return np.frombuffer(content, kind).reshape(shape)


def in_python(function: Any, cuda: Block, made: dict[int, Any]) -> Any:
    """A device function as a Python function, with everything it calls."""
    body = getattr(function, "py_func", function)
    if id(body) in made:
        return made[id(body)]
    names = {**body.__globals__}
    copy = types.FunctionType(body.__code__, names, body.__name__, body.__defaults__, body.__closure__)
    made[id(body)] = by_lanes(copy, BY_LANES[body.__name__]) if _differs(body) else copy
    for name in body.__code__.co_names:
        if hasattr(names.get(name), "py_func"):
            names[name] = in_python(names[name], cuda, made)
    names |= {
        "cuda": cuda,
        "array_at": lambda address, shape, dtype: array_at(address, tuple(map(int, shape)), dtype),
        "address_of": lambda array: array.ctypes.data,
    }
    return made[id(body)]


def _differs(body: Any) -> bool:
    return body.__name__ in BY_LANES and ".cuda" in body.__module__


class EmulatedGPU:
    """A `Device` whose kernels run in Python when they are launched."""

    capability = (9, 0)

    def __init__(self, room: int = 1 << 30) -> None:
        self.room = room
        self.taken: dict[int, np.ndarray] = {}
        self.launched: list[tuple[str, int]] = []

    def attribute(self, name: str) -> int:
        return 1

    def free(self) -> int:
        return self.room

    def take(self, size: int) -> int:
        content = np.random.default_rng(0).integers(0, 256, size + 256, np.uint8)  # nothing may rely on zeros
        address = -(-content.ctypes.data // 256) * 256
        self.taken[address] = content
        return int(address)

    def give_back(self, address: int) -> None:
        del self.taken[address]

    def send(self, address: int, values: np.ndarray, stream: Any = None) -> None:
        ctypes.memmove(address, values.ctypes.data, values.nbytes)

    def fetch(self, address: int, values: np.ndarray) -> None:
        ctypes.memmove(values.ctypes.data, address, values.nbytes)

    def fill(self, address: int, word: int, size: int, stream: Any) -> None:
        if size:
            array_at(address, (size // 4,), np.uint32)[:] = word

    def function(self, ptx: str) -> Any:
        return BODIES[ptx]

    def stream(self, urgent: bool = False) -> None:
        return None

    def event(self, stream: Any) -> None:
        return None

    def is_over(self, event: Any) -> bool:
        return True

    def seconds(self, first: Any, last: Any) -> float:
        return 1.0

    def launch(self, function: Any, blocks: int, threads: int, stream: Any, arguments: Any, shared: int = 0) -> None:
        self.launched.append((function.__name__, blocks))
        represented = function.__name__ != "evaluate"
        for number in range(blocks):
            cuda = Block(number, threads, shared)
            body = in_python(function, cuda, {})
            members = [0, *range(WARP, threads)] if represented else list(range(threads))
            made = []
            for x in members:
                made.append(Thread(quiet(body)))
                made[-1].x, made[-1].alone = x, represented and x == 0
            run_threads(made, [lambda thread=thread: thread.switch(*map(int, arguments)) for thread in made], _none)


def _none() -> None:
    pass


#: Bodies of kernels by what stands for their PTX.
BODIES: dict[str, Any] = {}


def compiled(program: Any, capability: tuple[int, int]) -> Any:
    """In place of `compiling.compiled`."""
    from monmdp.cuda.kernels import kernel_body

    name = f"{program.agent} {program.shape} {program.noisy} {hash(program.schema)}"
    BODIES[name] = kernel_body(program)
    return name
