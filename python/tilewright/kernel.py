# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A compiled kernel: checks arguments, runs it, keeps the report."""

from __future__ import annotations

import itertools
import math
import os
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from . import debug, env
from .arguments import (
    PAIRS,
    TensorArgument,
    absent_tensor,
    check_devices,
    is_torch,
    loaded_torch,
    make_output,
    merged_shape,
    plain_torch,
    scalar_argument,
    tensor_argument,
)
from .dtypes import dtype as as_dtype
from .errors import (
    ArgumentError,
    ArgumentTypeError,
    CompileError,
    InternalError,
    Location,
    RunError,
    TimingOnlyError,
    compile_error,
    describe,
    with_code,
)
from .origin import Origin
from .report import session
from .report.result import SimulationResult

_local = threading.local()
_trace_numbers = itertools.count()
#: Departures below are the rounding of a healthy kernel.
COMPARE_ULP = 64.0


class Timing:
    """While active (`with Timing() as t`), the modelled times of all kernels are added up.

    Without data, kernels compute nothing where times do not depend on it; outputs are undefined.
    """

    def __init__(self, with_data: bool = True) -> None:
        self.with_data = with_data
        self.milliseconds = 0.0
        self.launches = 0

    def __enter__(self) -> Timing:
        self.outer = getattr(_local, "timing", None)
        _local.timing = self
        return self

    def __exit__(self, *_: object) -> None:
        _local.timing = self.outer


def launch_milliseconds(launch: Any) -> float:
    """Modelled time of a launch as a caller sees it: core time and launch cost."""
    return (launch["microseconds"] + launch["launch_microseconds"]) / 1000.0


class Kernel:
    """A compiled kernel. Call it with tensors and numbers; outputs are allocated and returned."""

    def __init__(
        self,
        core: Any,
        *,
        prim_func: Any = None,
        out_idx: Any = None,
        order: Sequence[str] | None = None,
        returned: Sequence[str] | None = None,
        single: bool | None = None,
        target: str = "npuir",
    ) -> None:
        self.core = core
        self.prim_func = prim_func
        self.target = target
        self.config: Any = None
        self.latency: float | None = None
        self.ref_latency: float | None = None
        self.last_report: dict[str, Any] | None = None
        self.origin: Origin | None = None
        #: Of a tuned kernel: (configuration, why it was left out).
        self.tuner_skipped: list[tuple[dict[str, Any], str]] = []
        self.parameters = list(core.parameters)
        names = [p["name"] for p in self.parameters]
        outputs = [i for i, p in enumerate(self.parameters) if p["output"]]
        by_name = {n: i for i, n in enumerate(names)}
        #: Positions of the parameters that a call passes, in the order of the call.
        self.inputs = (
            [by_name[n] for n in order]
            if order is not None
            else [i for i in range(len(names)) if i not in outputs]
        )
        #: Positions of the parameters that a call returns, in the order of the result.
        self.results = [by_name[n] for n in returned] if returned is not None else outputs
        if returned is None and out_idx is not None:
            self.results = list(out_idx)
        self.out_idx = list(self.results)
        self.single = len(self.results) == 1 if single is None else single
        self._static = {
            i: p["shape"] for i, p in enumerate(self.parameters) if -1 not in p["shape"]
        }
        for told in session.compiled:
            told(self)

    @property
    def name(self) -> str:
        return self.core.name

    @property
    def params(self) -> list[Any]:
        """Parameters with `.name`, `.dtype` and `.shape`, as tuners want them."""
        from .frontend.prim_func import Param

        return [Param(p["name"], p["dtype"], tuple(p["shape"])) for p in self.parameters]

    # -- running --------------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if kwargs:
            args = self._positional(args, kwargs)
        self._expect(args)
        return self._call(args, self._run)[0]

    def _call(self, args: Sequence[Any], run: Callable[[list[Any]], Any]) -> tuple[Any, Any]:
        """Allocates outputs, calls `run` with all arguments: (what a call returns, run's)."""
        with plain_torch():
            values, arguments, after, device, torch_outputs = self._convert(args)
            if self.results:
                self._allocate(values, arguments, torch_outputs, device)
            found = run(arguments)
            for action in after:
                action()
        if not self.results:
            return None, found
        results = [values[i] for i in self.results]
        return (results[0] if self.single else results), found

    def simulate(
        self,
        *args: Any,
        chip: str | None = None,
        check: bool = False,
        trace: str | os.PathLike[str] | None = None,
        timing_only: bool = False,
        store: bool = False,
        sample_waves: int | None = None,
    ) -> SimulationResult:
        """Runs the kernel on the simulator as a call does, and returns all there is to know of it.

        `args` are those of a call. `chip` names another chip, or a chip file, on which the same
        program is to run: ArgumentError when its memory plan does not fit there. `check` looks for
        races and other faults; a kernel that stops is then told by the result, else it raises
        RunError. `trace` is the file for a Perfetto trace. With `timing_only` nothing is computed
        and no arguments are needed when all shapes are static and there are no scalar parameters;
        TimingOnlyError when times depend on data, with the line. `store` keeps what the run did, so
        that the result can be timed again (`SimulationResult.retime`). With `sample_waves` a run
        without data times the first so many blocks of each core, two at least (else ArgumentError),
        and estimates the others; RunError when no core has more blocks than that.
        """
        if sample_waves is not None and not timing_only:
            raise ArgumentError(
                "error[E0812]: sample_waves needs timing_only=True: all blocks compute data"
            )
        if timing_only and check:
            raise ArgumentError(
                "error[E0812]: timing_only=True computes nothing to check; leave one of them out"
            )
        if chip and (problem := self.core.chip_problem(chip)):
            raise ArgumentError(with_code(f"kernel {self.name}: {problem}"))
        options = {"chip": chip or "", "time": True, "check": check, "json": True}
        options |= {"sensitivity": env.run_settings().sensitivity, "store": store}
        if sample_waves is not None:
            if not isinstance(sample_waves, int) or not 2 <= sample_waves < 2**31:
                raise ArgumentError(
                    f"error[E0812]: sample_waves is {sample_waves!r}; give the blocks of each core "
                    "to time, a whole number from 2 on, or leave it out for all of them"
                )
            options["sample_waves"] = sample_waves
        if trace is not None:
            options["trace_file"] = os.fspath(trace)

        def run(arguments: list[Any]) -> Any:
            return self._simulated(arguments, options)

        outputs = None
        if timing_only:
            options["data"] = "never"
            report = run(self._without_data(args))
        else:
            self._expect(args)
            outputs, report = self._call(args, run)
        stored = (self.core, report["stored"]) if store else None
        outputs = outputs if report["ok"] else None
        return SimulationResult.from_json(report["json"], outputs, stored)

    def _simulated(self, arguments: list[Any], options: dict[str, Any]) -> dict[str, Any]:
        settings = env.run_settings()
        options = {**options, "check": options["check"] or settings.check}
        if "data" in options:
            options["check"] = False
        report = self._observed(arguments, settings, options)
        if report["needs_data"]:
            raise TimingOnlyError(self._stopped(report))
        if not report["ok"] and not (options["check"] and report["findings"]):
            raise RunError(self._stopped(report))
        return report

    def _without_data(self, args: Sequence[Any]) -> list[Any]:
        """All arguments of a run that computes nothing: given ones, the others by shape alone."""
        if args:
            self._expect(args)
            with plain_torch():
                _, arguments, *_ = self._convert(args)
                shapes = iter(self._output_shapes(arguments))
            for position, parameter in enumerate(self.parameters):
                if parameter["output"]:
                    arguments[position] = (0, next(shapes), parameter["dtype"])
            return arguments
        for position, parameter in enumerate(self.parameters):
            if parameter["kind"] != "tensor" or position not in self._static:
                what = "size" if parameter["kind"] == "tensor" else "value"
                raise ArgumentError(
                    f"error[E0808]: the {what} of '{parameter['name']}' is known only at a call; "
                    f"pass the arguments of kernel {self.name}"
                )
        return [(0, self._static[i], p["dtype"]) for i, p in enumerate(self.parameters)]

    def _expect(self, args: Sequence[Any]) -> None:
        """Refuses another number of arguments than that of the inputs."""
        if len(args) == len(self.inputs):
            return
        names = ", ".join(self.parameters[i]["name"] for i in self.inputs)
        text = (
            f"error[E0801]: Expected {len(self.inputs)} inputs, got {len(args)}: kernel "
            f"{self.name} takes ({names})"
        )
        if self.results and len(args) == len(self.parameters):
            results = ", ".join(self.parameters[i]["name"] for i in self.results)
            text += f"; the outputs ({results}) are allocated and returned by the call"
        raise ArgumentError(text)

    def _positional(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        names = [self.parameters[i]["name"] for i in self.inputs]
        unknown = [k for k in kwargs if k not in names[len(args) :]]
        if unknown:
            raise ArgumentTypeError(
                f"error[E0801]: kernel {self.name} got an unexpected or repeated keyword "
                f"{unknown[0]!r}; it takes ({', '.join(names)})"
            )
        missing = [n for n in names[len(args) :] if n not in kwargs]
        if missing:
            raise ArgumentTypeError(
                f"error[E0801]: kernel {self.name} misses argument {missing[0]!r}"
            )
        return (*args, *[kwargs[n] for n in names[len(args) :]])

    def _convert(self, args: Sequence[Any]) -> Any:
        values: dict[int, Any] = {}
        arguments: list[Any] = [None] * len(self.parameters)
        after = []
        names: list[str] = []
        tensors: list[Any] = []
        torch_outputs = False
        for number, (position, value) in enumerate(zip(self.inputs, args, strict=True)):
            parameter = self.parameters[position]
            name = parameter["name"]
            values[position] = value
            if parameter["kind"] != "tensor":
                arguments[position] = scalar_argument(name, number, value, parameter["dtype"])
                continue
            if value is None and not parameter["used"] and position in self._static:
                tensor = absent_tensor(self._static[position], parameter["dtype"])
            else:
                tensor = tensor_argument(name, number, value)
            self._check(tensor, parameter, number)
            arguments[position] = (tensor.pointer, tensor.shape, tensor.dtype)
            values[-1 - position] = tensor.keep
            if value is not None:
                names.append(name)
                tensors.append(value)
            torch_outputs = torch_outputs or is_torch(value)
            if tensor.after is not None:
                after.append(tensor.after)
        device = check_devices(names, tensors)
        if not tensors:
            torch_outputs = loaded_torch() is not None
        return values, arguments, after, device, torch_outputs

    def _check(self, tensor: TensorArgument, parameter: Any, number: int) -> None:
        shape, declared = tensor.shape, parameter["shape"]
        name = parameter["name"]
        if parameter["element"] and tensor.dtype in PAIRS:  # bytes of pairs, under any name
            tensor.dtype = parameter["dtype"]
        if tensor.dtype != parameter["dtype"]:
            raise ArgumentTypeError(
                f"error[E0803]: argument {number} '{name}' has element type {tensor.dtype}; kernel "
                f"{self.name} expects {parameter['dtype']}"
            )
        fits = len(shape) == len(declared) and all(
            d < 0 or s == d for s, d in zip(shape, declared, strict=True)
        )
        if not fits and len(shape) != len(declared):
            merged = merged_shape(shape, declared)
            if merged is not None:  # the same rows with dimensions put together or taken apart
                tensor.shape, fits = merged, True
        if not fits:
            text = ", ".join(parameter["shape_text"])
            raise ArgumentError(
                f"error[E0804]: argument {number} '{name}' has shape {tuple(shape)}; kernel "
                f"{self.name} expects ({text})"
            )

    def _allocate(
        self, values: Any, arguments: list[Any], like_torch: bool, device: str | None
    ) -> None:
        positions = [i for i, p in enumerate(self.parameters) if p["output"]]
        shapes = self._output_shapes(arguments)
        for position, shape in zip(positions, shapes, strict=True):
            dtype, alias = self.parameters[position]["dtype"], self.parameters[position]["alias"]
            if alias >= 0:
                arguments[position] = self._alias(position, arguments[alias], shape)
                continue
            made = make_output(
                list(shape), self.parameters[position]["element"] or dtype, like_torch, device
            )
            values[position] = made
            pointer = made.data_ptr() if like_torch else made.ctypes.data
            arguments[position] = (pointer, tuple(shape), dtype)

    def _alias(self, position: int, tensor: Any, shape: Sequence[int]) -> Any:
        """A view of another tensor argument, which must have as many bits."""
        pointer, sizes, element = tensor
        view = self.parameters[position]
        wanted = math.prod(shape) * as_dtype(view["dtype"]).bits
        if wanted != math.prod(sizes) * as_dtype(element).bits:
            raise ArgumentError(
                f"error[E0310]: kernel {self.name} views an argument of shape {tuple(sizes)} "
                f"{element} as {tuple(shape)} {view['dtype']} ('{view['name']}'), which has "
                "another number of bits"
            )
        return pointer, tuple(shape), view["dtype"]

    def _output_shapes(self, arguments: list[Any]) -> list[Any]:
        """Shapes of the outputs, in the order of the parameters."""
        positions = [i for i, p in enumerate(self.parameters) if p["output"]]
        if all(i in self._static for i in positions):
            return [self._static[i] for i in positions]
        given = [a for i, a in enumerate(arguments) if i not in positions]
        shapes, error = self.core.output_shapes(given)
        if error:
            raise ArgumentError(with_code(f"kernel {self.name}: {error}"))
        return shapes

    def _run(self, arguments: list[Any]) -> None:
        settings = env.run_settings()
        if asked := getattr(_local, "compare", 0.0):
            settings = replace(settings, engine="interpreter", stage="", compare=asked)
        timing: Timing | None = getattr(_local, "timing", None)
        time = settings.time or timing is not None
        engine = settings.engine
        trace_file = settings.trace_file
        if trace_file:
            count = next(_trace_numbers)
            if count:
                stem, dot, suffix = trace_file.rpartition(".")
                trace_file = f"{stem}.{count}{dot}{suffix}" if dot else f"{trace_file}.{count}"
        options = {
            "engine": engine,
            "stage": settings.stage if engine == "interpreter" else "",
            "time": time,
            "sensitivity": settings.time and settings.sensitivity,
            "check": settings.check,
            "delay_seed": settings.delay_seed,
            "trace_file": trace_file,
        }
        if engine == "interpreter":
            options["compare"] = settings.compare
            options["at_breakpoint"] = debug.stop
        if timing is not None and not timing.with_data:
            options["data"] = "when-needed"
        report = self._observed(arguments, settings, options)
        if not report["ok"]:
            raise RunError(self._stopped(report))
        if timing is not None:
            for launch in report["launches"]:
                timing.milliseconds += launch_milliseconds(launch)
                timing.launches += 1

    def _observed(
        self, arguments: list[Any], settings: env.RunSettings, options: dict[str, Any]
    ) -> dict[str, Any]:
        """One run of the core, told to whoever watches the kernels of this process."""
        simulated = options.get("engine") != "interpreter"
        if simulated and any(observer.wants_limits for observer in session.observers):
            options = {**options, "time": True, "limits": True}
            options["sensitivity"] = settings.sensitivity
        computes = options.get("data", "always") == "always"
        for observer in session.observers:
            observer.before(self, arguments, computes)
        report = self.core.run(
            arguments,
            **options,
            num_threads=settings.num_threads,
            max_instructions=settings.max_instructions,
        )
        self._tell(report, settings)
        if report["ok"]:
            for observer in session.observers:
                observer.after(self, arguments, report, options.get("chip", ""))
        return report

    def _tell(self, report: dict[str, Any], settings: env.RunSettings) -> None:
        """Keeps the report and prints what the kernel and the settings want printed."""
        self.last_report = report
        if report["printed"]:
            sys.stdout.write(report["printed"])
            sys.stdout.flush()
        if not getattr(_local, "compare", 0.0):  # who asks for it looks at the findings himself
            session.record(self.name, report, settings)

    def _stopped(self, report: dict[str, Any]) -> str:
        place = location(report["error_location"])
        return describe(f"kernel {self.name}: {report['error']}", place)

    def compare(self, *args: Any, ulp: float = COMPARE_ULP) -> list[dict[str, Any]]:
        """Runs the kernel as written beside exact arithmetic (double precision).

        Gives the first statement of each kind at which they part: `kind` is departs (a tile is more
        than `ulp` units in the last place of its type at its largest value away), inf (a value
        past the type's range), nan, or unwritten (made from elements that nothing has written).
        `message` names tile, element, both values and their operands; `location` is
        (file, line, column). Empty when nothing departs. `args` are those of a call.
        """
        if not ulp > 0:
            raise ValueError(f"error[E0124]: compare: ulp is {ulp!r}; allowed is a number above 0")
        _local.compare = float(ulp)
        try:
            self(*args)
        finally:
            _local.compare = 0.0
        assert self.last_report is not None
        return list(self.last_report["findings"])

    def expert_source(self, bound_to: str = "kernel") -> str:
        """The compiled program as Python of T.Cores, which compiles to it again as `bound_to`.

        Raises CompileError, at the line, where Python has no words for it.
        """
        source, diagnostics = self.core.expert()
        for found in diagnostics:
            if found["severity"] == "error":
                raise compile_error(found["message"], Location(*found["location"]))
        outputs = [i for i, p in enumerate(self.parameters) if p["output"]]
        scratch = [i for i in outputs if i not in self.results]
        options = f", out_idx={list(self.results)}" if self.results else ""
        options += f", workspace_idx={scratch}" if scratch else ""
        return f"{source}\n\n{bound_to} = tilelang.compile({self.name}{options})\n"

    # -- book-keeping ---------------------------------------------------------------------------

    def text(self, stage: str = "") -> str:
        """IR after a stage (see `stages`); the last one by default."""
        stages = self.stages
        stage = stage or stages[-1]
        if stage not in stages:
            raise ValueError(f"error[E0815]: no stage {stage!r}; there are {', '.join(stages)}")
        return self.core.text(stage)

    @property
    def stages(self) -> list[str]:
        return list(self.core.stages())

    @property
    def remarks(self) -> list[Any]:
        """What the automatic stages decided, each with its line."""
        return list(self.core.remarks)

    @property
    def sync_points(self) -> list[Any]:
        return list(self.core.sync_points())

    def get_kernel_source(self, kernel_only: bool = True) -> str:
        """The launches as text of HIVM (docs/hivm.md), in the form with this compiler's flags.

        Where HIVM has nothing for a statement the text of the last stage is given, with the reason
        in its first line (`tilewright export` refuses such a kernel). So it is for a chip that HIVM
        text is not made for, and for a kernel that only the interpreter runs.
        """
        if not self.core.hivm_target:
            return self.text()
        from .hivm import launches

        try:
            return "\n".join(launch["text"] for launch in launches(self.core, "flags"))
        except CompileError as error:
            return f"// no HIVM text: {str(error).splitlines()[0]}\n{self.text()}"

    def get_host_source(self) -> str:
        return self.text()

    @property
    def kernel_source(self) -> str:
        return self.get_kernel_source()

    def show_source(self, *_: Any, **__: Any) -> None:
        print(self.get_kernel_source())

    def export_library(self, path: str) -> None:
        """Writes the compiled program's text to a file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.get_kernel_source())

    def run_once(self) -> Any:
        """One call with inputs of its own."""
        return self.get_profiler().run_once()

    def get_profiler(self, tensor_supply_type: Any = None, **_: Any) -> Any:
        from .profiler import Profiler, TensorSupplyType

        return Profiler(self, tensor_supply_type or TensorSupplyType.Auto)

    def update_tuner_result(
        self, latency: float, config: Any, ref_latency: float | None = None
    ) -> Kernel:
        self.latency, self.config, self.ref_latency = latency, config, ref_latency
        return self

    def get_tuner_result(self) -> tuple[float | None, Any, float | None]:
        if self.latency is None:
            raise ValueError(
                "error[E0814]: this kernel was not tuned; decorate its function with "
                "@tilelang.autotune"
            )
        return self.latency, self.config, self.ref_latency

    def __repr__(self) -> str:
        return f"<compiled kernel {self.name}>"


JITKernel = Kernel


def location(found: Any) -> Location | None:
    """A location of the core, as (file, line, column); None when it is unknown."""
    if not found or not found[1]:
        return None
    return Location(found[0], found[1], found[2])


def diagnostics_error(diagnostics: Sequence[Any], name: str) -> Exception:
    """The first error of a compilation with its notes, at the user's line.

    An operation that a pass made and the verifier refused is our fault, not the kernel's.
    """
    errors = [d for d in diagnostics if d["severity"] == "error"] or list(diagnostics)
    if not errors:
        return InternalError(
            f"error[E0799]: kernel {name} could not be compiled, and no reason was given"
        )
    first = errors[0]
    place = location(first["location"])
    internal = [n for n in first["notes"] if n["message"].startswith("see current operation")]
    if internal:
        operation = internal[0]["message"].partition(": ")[2]
        hint = (
            "This is a fault of the compiler. Please report it with the IR that "
            "`tilewright run --dump-ir DIR` writes"
        )
        hint += "; --opt-level 0 may avoid it." if env.compile_settings().opt_level else "."
        text = f"error[E0799]: kernel {name}: {first['message']}\n  in {operation[:300]}"
        return InternalError(describe(text, place, (hint,)))
    notes = []
    for note in first["notes"]:
        notes.append(describe(f"note: {note['message']}", location(note["location"])))
    for other in errors[1:4]:
        notes.append(describe(f"also: {other['message']}", location(other["location"])))
    message = with_code(first["message"])
    if not message.startswith("error["):
        message = f"error[E0700]: {message}"
    return compile_error(message, place, None, tuple(notes))
