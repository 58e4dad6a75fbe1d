"""The CUDA driver, as little of it as is needed; what goes wrong becomes a sentence."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from monmdp.engine.memory import readable
from monmdp.errors import MonMDPError

#: The share of free device memory that is used.
SHARE = 0.9
INSTALL = "install it with: pip install 'monmdp[cuda]'"


class Missing(MonMDPError):
    """There is no GPU to be used, and why."""


def bindings() -> Any:
    """The driver's module."""
    try:
        from cuda.bindings import driver
        import numba_cuda  # noqa: F401
    except ImportError:
        raise Missing(f"The extra for GPUs is not installed; {INSTALL}") from None
    return driver


class Device:
    """The first GPU: memory, copies, kernels and times."""

    def __init__(self) -> None:
        self._driver = bindings()
        try:
            self._call("cuInit", 0)
            count = self._call("cuDeviceGetCount")
        except Exception as error:
            raise Missing(
                f"No CUDA driver answers ({_short(error)}); install NVIDIA's driver, or use the CPU."
            ) from None
        if count == 0:
            raise Missing("There is no CUDA GPU on this machine; use the CPU.")
        self._number = self._call("cuDeviceGet", 0)
        self._context = self._call("cuDevicePrimaryCtxRetain", self._number)
        self._call("cuCtxSetCurrent", self._context)
        self._modules: dict[str, Any] = {}
        self._names: list[Any] = []

    def _call(self, name: str, *arguments: Any) -> Any:
        result = getattr(self._driver, name)(*arguments)
        code, values = (result[0], result[1:]) if isinstance(result, tuple) else (result, ())
        if int(code) != 0:
            if code == self._driver.CUresult.CUDA_ERROR_OUT_OF_MEMORY:
                raise MonMDPError(
                    f"The GPU is out of memory ({readable(self.free())} of it is free); other programs may be using "
                    "it, or the problem is too large."
                )
            raise MonMDPError(f"The GPU failed: {name} says {code.name}.")
        return values[0] if len(values) == 1 else values or None

    def attribute(self, name: str) -> int:
        kind = getattr(self._driver.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
        return int(self._call("cuDeviceGetAttribute", kind, self._number))

    @property
    def name(self) -> str:
        return str(self._call("cuDeviceGetName", 256, self._number).split(b"\0")[0].decode())

    @property
    def capability(self) -> tuple[int, int]:
        return self.attribute("COMPUTE_CAPABILITY_MAJOR"), self.attribute("COMPUTE_CAPABILITY_MINOR")

    def free(self) -> int:
        """Bytes of device memory that can be taken."""
        result = self._driver.cuMemGetInfo()
        return int(result[1]) if int(result[0]) == 0 else 0

    def take(self, size: int) -> int:
        """The address of so many new bytes."""
        return int(self._call("cuMemAlloc", max(size, 1)))

    def give_back(self, address: int) -> None:
        self._call("cuMemFree", address)

    def send(self, address: int, values: np.ndarray) -> None:
        if values.nbytes:
            self._call("cuMemcpyHtoD", address, values.ctypes.data, values.nbytes)

    def fetch(self, address: int, values: np.ndarray) -> None:
        if values.nbytes:
            self._call("cuMemcpyDtoH", values.ctypes.data, address, values.nbytes)

    def fill(self, address: int, word: int, size: int) -> None:
        """Repeat a word of four bytes."""
        self._call("cuMemsetD32", address, word, size // 4)

    def function(self, ptx: str, entry: str, shared: int = 0) -> Any:
        """A kernel, loaded once."""
        if ptx not in self._modules:
            module = self._call("cuModuleLoadData", ptx.encode() + b"\0")
            self._modules[ptx] = self._call("cuModuleGetFunction", module, entry.encode())
        return self._modules[ptx]

    def registers(self, function: Any) -> tuple[int, int]:
        """Registers and bytes of local memory of a thread."""
        kinds = self._driver.CUfunction_attribute
        return (
            int(self._call("cuFuncGetAttribute", kinds.CU_FUNC_ATTRIBUTE_NUM_REGS, function)),
            int(self._call("cuFuncGetAttribute", kinds.CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, function)),
        )

    def stream(self) -> Any:
        return self._call("cuStreamCreate", self._driver.CUstream_flags.CU_STREAM_NON_BLOCKING)

    def launch(
        self, function: Any, blocks: int, threads: int, stream: Any, arguments: Sequence[int], shared: int = 0
    ) -> None:
        """Start a kernel whose arguments are all whole numbers of 8 bytes."""
        given = (tuple(int(value) for value in arguments), tuple(ctypes.c_int64 for _ in arguments))
        self._call("cuLaunchKernel", function, blocks, 1, 1, threads, 1, 1, shared, stream, given, 0)

    def event(self, stream: Any) -> Any:
        made = self._call("cuEventCreate", 0)
        self._call("cuEventRecord", made, stream)
        return made

    def is_over(self, event: Any) -> bool:
        result = self._driver.cuEventQuery(event)
        code = result[0] if isinstance(result, tuple) else result
        if code == self._driver.CUresult.CUDA_ERROR_NOT_READY:
            return False
        if int(code) != 0:
            raise MonMDPError(f"The GPU failed while training: {code.name}.")
        return True

    def seconds(self, first: Any, last: Any) -> float:
        return float(self._call("cuEventElapsedTime", first, last)) / 1000

    def wait(self, events: Sequence[Any], each: Any = None, every: float = 0.02) -> None:
        """Until all events are over; `each` is called now and then."""
        while not all(self.is_over(event) for event in events):
            if each is not None:
                each()
            time.sleep(every)


def _short(error: BaseException) -> str:
    text = str(error).strip().splitlines()
    return text[0].rstrip(".") if text else type(error).__name__
