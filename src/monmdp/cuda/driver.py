"""The CUDA driver, as little of it as is needed; what goes wrong becomes a sentence."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from monmdp.errors import MonMDPError
from monmdp.machine import readable

#: The share of free device memory that is used.
SHARE = 0.9
#: Seconds between two looks at how far a device is.
TELL_EVERY = 0.2
INSTALL = "install it with: pip install 'monmdp[cuda]'"


class MissingGPUError(MonMDPError):
    """There is no GPU to be used, and why."""


def bindings() -> Any:
    """The driver's module."""
    try:
        import numba_cuda  # noqa: F401
        from cuda.bindings import driver
    except ImportError:
        raise MissingGPUError(f"The extra for GPUs is not installed; {INSTALL}") from None
    return driver


class Device:
    """The first GPU: memory, copies, kernels and times."""

    def __init__(self) -> None:
        self._driver = bindings()
        try:
            self._call("cuInit", 0)
            count = self._call("cuDeviceGetCount")
        except Exception:  # whatever the bindings raise where there is no driver
            raise MissingGPUError("No CUDA driver answers; install NVIDIA's driver, or use the CPU.") from None
        if count == 0:
            raise MissingGPUError("There is no CUDA GPU on this machine; use the CPU.")
        self._number = self._call("cuDeviceGet", 0)
        self._context = self._call("cuDevicePrimaryCtxRetain", self._number)
        self._call("cuCtxSetCurrent", self._context)
        self._modules: dict[str, Any] = {}

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
        self._driver.cuMemFree(address)  # where it fails, something else failed before and is being told

    def send(self, address: int, values: np.ndarray) -> None:
        if values.nbytes:
            whole = np.ascontiguousarray(values)
            self._call("cuMemcpyHtoD", address, whole.ctypes.data, whole.nbytes)

    def fetch(self, address: int, values: np.ndarray) -> None:
        if values.nbytes:
            self._call("cuMemcpyDtoH", values.ctypes.data, address, values.nbytes)

    def copy_speed(self, size: int = 4 << 30, times: int = 5) -> float:
        """Bytes a second that a copy within device memory reads and writes."""
        here, there, stream = self.take(size), self.take(size), self.stream()
        try:
            self._call("cuMemcpyDtoDAsync", there, here, size, stream)
            first = self.event(stream)
            for _ in range(times):
                self._call("cuMemcpyDtoDAsync", there, here, size, stream)
            last = self.event(stream)
            self.wait([last])
            return 2 * size * times / self.seconds(first, last)
        finally:
            self.give_back(here)
            self.give_back(there)

    def fill(self, address: int, word: int, size: int) -> None:
        """Repeat a word of four bytes."""
        self._call("cuMemsetD32", address, word, size // 4)

    def function(self, ptx: str, entry: str) -> Any:
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

    def follow(self, stream: Any, event: Any) -> None:
        """Let a stream wait for an event."""
        self._call("cuStreamWaitEvent", stream, event, 0)

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

    def wait(self, events: Sequence[Any], each: Callable[[], None] | None = None) -> None:
        """Until all events are over; `each` is called now and then."""
        told = time.monotonic()
        while not all(self.is_over(event) for event in events):
            if each is not None and time.monotonic() - told > TELL_EVERY:
                each()
                told = time.monotonic()
            time.sleep(0.002)
