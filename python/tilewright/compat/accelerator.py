# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Host interface of the simulated devices: `torch.npu` and `torch.cuda`."""

from __future__ import annotations

import contextlib
import time
import types
from typing import Any

from ..errors import NotAvailableError
from ..utils.npu_utils import chip_info

MEMORY = 64 << 30
#: Keeps the gates of GPU scripts open: the most capable GPU whose features they ask for.
CAPABILITY = (9, 0)


class Event:
    """A point in time. Kernels run at once, so an event is reached when it is recorded."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self.time = 0.0

    def record(self, stream: Any = None) -> None:
        self.time = time.perf_counter()

    def synchronize(self) -> None:
        return None

    wait = synchronize

    def query(self) -> bool:
        return True

    def elapsed_time(self, end: Event) -> float:
        """Milliseconds of host time between two events."""
        return (end.time - self.time) * 1000


class Stream:
    """A queue of work; everything runs at once, in program order."""

    npu_stream = cuda_stream = 0

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def synchronize(self) -> None:
        return None

    def wait_stream(self, stream: Any) -> None:
        return None

    def wait_event(self, event: Any) -> None:
        return None

    def record_event(self, event: Any = None) -> Event:
        event = event or Event()
        event.record()
        return event

    def query(self) -> bool:
        return True

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        return None


class Runtime:
    """`torch.cuda.cudart()`: functions of the GPU runtime that switch its profiler."""

    def cudaProfilerStart(self) -> int:
        return 0

    def cudaProfilerStop(self) -> int:
        return 0


class Properties:
    """What scripts ask of a device: the chip's cores, and a GPU's answers to the rest."""

    def __init__(self, name: str) -> None:
        chip = chip_info()
        self.name = name
        self.major, self.minor = CAPABILITY
        self.total_memory = MEMORY
        self.multi_processor_count = int(chip["aic_count"])
        self.L2_cache_size = int(chip["l2_bytes"])
        self.warp_size = 32
        self.max_threads_per_multi_processor = 2048
        self.shared_memory_per_block = 48 << 10
        self.shared_memory_per_block_optin = 227 << 10
        self.regs_per_multiprocessor = 65536


def _nothing() -> Any:
    """A function that does nothing; one for each name, as torch.compile keeps a rule for each."""
    return lambda *_, **__: None


def _context() -> Any:
    """A context manager that does nothing; one for each name likewise."""
    return lambda *_, **__: contextlib.nullcontext()


def _no_graphs(kind: str, name: str) -> Any:
    """Graphs record launches of a driver, which there is none of here."""

    def refuse(*_: Any, **__: Any) -> Any:
        raise NotAvailableError(
            f"error[E0122]: torch.{kind}.{name} is not available: kernels run at once on the "
            "simulated device, so there is nothing to record; call the function itself"
        )

    return refuse


def _functions(torch: Any, kind: str) -> dict[str, Any]:
    """The functions that both devices have."""
    stream = Stream()
    return {
        **{name: _no_graphs(kind, name) for name in ("graph", "make_graphed_callables")},
        **{name: _no_graphs(kind, name) for name in ("CUDAGraph", "NPUGraph")},
        "Event": Event,
        "Stream": Stream,
        "_is_in_bad_fork": lambda: False,
        "_lazy_init": _nothing(),
        "cudart": Runtime,
        "current_device": lambda: 0,
        "current_stream": lambda *_: stream,
        "default_stream": lambda *_: stream,
        "device": _context(),
        "device_count": lambda: 16 if kind == "npu" else 1,
        "empty_cache": _nothing(),
        "get_device_capability": lambda *_: CAPABILITY,
        "get_device_name": lambda *_: f"simulated {kind}",
        "get_device_properties": lambda *_: Properties(f"simulated {kind}"),
        "get_rng_state": lambda *_: torch.get_rng_state(),
        "get_rng_state_all": lambda: [],
        "init": _nothing(),
        "ipc_collect": _nothing(),
        "is_available": lambda: True,
        "is_initialized": lambda: True,
        "manual_seed": _nothing(),
        "manual_seed_all": _nothing(),
        "max_memory_allocated": lambda *_: 0,
        "mem_get_info": lambda *_: (MEMORY, MEMORY),
        "memory_allocated": lambda *_: 0,
        "memory_reserved": lambda *_: 0,
        "reset_peak_memory_stats": _nothing(),
        "seed": _nothing(),
        "seed_all": _nothing(),
        "set_device": _nothing(),
        "set_rng_state": _nothing(),
        "set_rng_state_all": _nothing(),
        "set_stream": _nothing(),
        "stream": _context(),
        "synchronize": _nothing(),
    }


def make_module(torch: Any, kind: str) -> types.ModuleType:
    """The module `torch.npu`."""
    module = types.ModuleType(f"torch.{kind}")
    module.__dict__.update(_functions(torch, kind))
    return module


def make_generator(torch: Any) -> type:
    """`torch.Generator` whose device argument may name a simulated device."""
    real = torch.Generator

    class Kind(type):
        def __instancecheck__(cls, value: Any) -> bool:
            return isinstance(value, real)

    class Generator(metaclass=Kind):
        def __new__(cls, device: Any = "cpu") -> Any:  # type: ignore[misc]
            return real()

    return Generator


def patch_cuda(torch: Any) -> None:
    """Makes `torch.cuda` answer for the simulated device."""
    for name, function in _functions(torch, "cuda").items():
        setattr(torch.cuda, name, function)
    import torch.cuda.profiler as profiler

    profiler.start, profiler.stop = _nothing(), _nothing()
