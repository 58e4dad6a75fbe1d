"""The parts of the CUDA driver that are needed; errors become sentences."""

import ctypes
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from monmdp.errors import MonMDPError
from monmdp.machine import readable

#: The fraction of free device memory that is used.
SHARE = 0.9
INSTALL = "install it with: pip install 'monmdp[cuda]'"


class MissingGPUError(MonMDPError):
    """There is no usable GPU."""


def bindings() -> Any:
    """The module of the CUDA driver."""
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
        os.environ.setdefault("CUDA_DEVICE_MAX_CONNECTIONS", "32")  # with 8, streams wait for each other
        try:
            self._call("cuInit", 0)
            count = self._call("cuDeviceGetCount")
        except Exception:  # the bindings raise various errors without a driver
            raise MissingGPUError("There is no CUDA driver; install NVIDIA's driver, or use the CPU.") from None
        if count == 0:
            raise MissingGPUError("There is no CUDA GPU on this machine; use the CPU.")
        self._number = self._call("cuDeviceGet", 0)
        self._context = self._call("cuDevicePrimaryCtxRetain", self._number)
        self._call("cuCtxSetCurrent", self._context)
        self._functions: dict[str, Any] = {}

    def _call(self, name: str, *arguments: Any) -> Any:
        """The result of a driver function that has at most one, or an error."""
        code, *values = getattr(self._driver, name)(*arguments)
        if int(code) != 0:
            if code == self._driver.CUresult.CUDA_ERROR_OUT_OF_MEMORY:
                raise MonMDPError(
                    f"The GPU is out of memory ({readable(self.free())} of it is free); other programs may be using "
                    "it, or the problem is too large."
                )
            raise MonMDPError(f"The GPU failed: {name} returned {code.name}.")
        return values[0] if values else None

    def attribute(self, name: str) -> int:
        """An attribute of the device by its name in CUDA."""
        kind = getattr(self._driver.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
        return int(self._call("cuDeviceGetAttribute", kind, self._number))

    @property
    def name(self) -> str:
        return str(self._call("cuDeviceGetName", 256, self._number).split(b"\0")[0].decode())

    @property
    def capability(self) -> tuple[int, int]:
        """The compute capability, major and minor."""
        return self.attribute("COMPUTE_CAPABILITY_MAJOR"), self.attribute("COMPUTE_CAPABILITY_MINOR")

    @property
    def memory_speed(self) -> float:
        """Bytes per second that device memory transfers at most."""
        kilohertz, bits = self.attribute("MEMORY_CLOCK_RATE"), self.attribute("GLOBAL_MEMORY_BUS_WIDTH")
        return 2 * 1000 * kilohertz * bits / 8

    def free(self) -> int:
        """Bytes of device memory that can be allocated."""
        code, free, _ = self._driver.cuMemGetInfo()
        return int(free) if int(code) == 0 else 0

    def take(self, size: int) -> int:
        """The address of newly allocated memory."""
        return int(self._call("cuMemAlloc", max(size, 1)))

    def give_back(self, address: int) -> None:
        """Free memory; an error here follows from an earlier one, which is reported."""
        self._driver.cuMemFree(address)

    def send(self, address: int, values: np.ndarray, stream: Any = None) -> None:
        """Copy a contiguous array to the device; keep the array until the stream has done it."""
        if values.nbytes:
            self._call("cuMemcpyHtoDAsync", address, values.ctypes.data, values.nbytes, stream)

    def fetch(self, address: int, values: np.ndarray) -> None:
        """Copy from the device into a contiguous array."""
        if values.nbytes:
            self._call("cuMemcpyDtoH", values.ctypes.data, address, values.nbytes)

    def fill(self, address: int, word: int, size: int, stream: Any) -> None:
        """Repeat a word of four bytes."""
        if size:
            self._call("cuMemsetD32Async", address, word, size // 4, stream)

    def function(self, ptx: str) -> Any:
        """The kernel of a PTX text, loaded once."""
        if ptx not in self._functions:
            entry = ptx.split(".visible .entry", 1)[1].split("(", 1)[0].strip()
            module = self._call("cuModuleLoadData", ptx.encode() + b"\0")
            self._functions[ptx] = self._call("cuModuleGetFunction", module, entry.encode())
        return self._functions[ptx]

    def stream(self, urgent: bool = False) -> Any:
        """A new stream; kernels of urgent ones start before waiting blocks of others."""
        flags = self._driver.CUstream_flags.CU_STREAM_NON_BLOCKING
        return self._call("cuStreamCreateWithPriority", flags, -1 if urgent else 0)

    def launch(
        self, function: Any, blocks: int, threads: int, stream: Any, arguments: Sequence[int], shared: int = 0
    ) -> None:
        """Start a kernel whose arguments are integers of 64 bits."""
        given = (tuple(int(value) for value in arguments), tuple(ctypes.c_int64 for _ in arguments))
        self._call("cuLaunchKernel", function, blocks, 1, 1, threads, 1, 1, shared, stream, given, 0)

    def event(self, stream: Any) -> Any:
        """An event that is over when the stream has done everything so far."""
        event = self._call("cuEventCreate", 0)
        self._call("cuEventRecord", event, stream)
        return event

    def is_over(self, event: Any) -> bool:
        (code,) = self._driver.cuEventQuery(event)
        if code == self._driver.CUresult.CUDA_ERROR_NOT_READY:
            return False
        if int(code) != 0:
            raise MonMDPError(f"The GPU failed while training: {code.name}.")
        return True

    def seconds(self, first: Any, last: Any) -> float:
        """Time between two events that are over."""
        return float(self._call("cuEventElapsedTime", first, last)) / 1000
