# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `Kernel.simulate` returns: times, use of the machine and findings of one run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import ArgumentError, Location, MissingPackageError, with_code

SCHEMA = "tilewright.simulation"
#: Version of the JSON form that this package reads and writes.
VERSION = 1
TABLES = ("launches", "pipes", "lines", "findings")


@dataclass(frozen=True)
class LineCycles:
    """Busy cycles of the instructions of one place, summed over pipes and cores."""

    location: Location | None
    cycles: int


@dataclass(frozen=True)
class Effect:
    """What one uncertain constant of the chip does: `core_us` at both ends of its `range`."""

    constant: str
    range: tuple[float, float]
    core_us: tuple[float, float]


@dataclass(frozen=True)
class Sensitivity:
    """How far a core time hangs on constants of the chip that were not read off a figure.

    Each of them moves alone, from one end of its range to the other; `least_us` and `most_us` are
    the extremes. `effects` are those that change the time, the strongest first. `share` of the
    run's events, the first ones of each core, were timed again and stand for all.
    """

    least_us: float
    most_us: float
    share: float
    effects: tuple[Effect, ...]

    def __str__(self) -> str:
        from .session import sensitivity_text

        most = self.effects[0].constant if self.effects else ""
        return sensitivity_text(self.least_us, self.most_us, most)


@dataclass(frozen=True)
class Launch:
    """Predicted times of one launch.

    `utilisation["AIC"]["MTE2"]` is the share of the core time in which that pipe is busy, the mean
    over the cores of that kind; "S" is what the scalar unit computes, "issue" its handing out of
    instructions to the other pipes. `traffic` holds bytes: `gm_read_bytes` and `gm_write_bytes` of
    the pipes, `hbm_bytes` that the L2 did not serve, `exchange_bytes` between cube and vector
    cores.
    """

    name: str
    cycles: float
    core_us: float
    launch_us: float
    launch_warm_us: float
    cores: Mapping[str, int]
    utilisation: Mapping[str, Mapping[str, float]]
    traffic: Mapping[str, int]
    lines: tuple[LineCycles, ...]
    #: Of a sampled run: "timed" and "all" blocks of the core that has most; all else is estimated.
    waves: Mapping[str, int] | None = None
    sensitivity: Sensitivity | None = None


@dataclass(frozen=True)
class Finding:
    """A fault of the kernel that the checker has found.

    `kind` is its class, `code` its error code and `tool` the part of the checker, as
    docs/simulator.md lists them; `memory` the buffers or the tensor concerned, `edge` what would
    put it right, each empty where there is none; `location` and `other_location` the two sides.
    """

    kind: str
    code: str
    tool: str
    message: str
    memory: str
    edge: str
    location: Location | None
    other_location: Location | None
    block: int
    count: int


@dataclass(frozen=True)
class SimulationResult:
    """One simulated run of a kernel. Times are predicted for `chip`, not measured.

    `ok` is False when the kernel stopped, and `error` says why. `outputs` is what the call would
    have returned: None with `timing_only` or when the kernel stopped. `json` is the document that
    everything else was read from.
    """

    kernel: str
    chip: str
    clock_mhz: float
    timing_only: bool
    ok: bool
    error: str | None
    error_location: Location | None
    instructions: int
    launches: tuple[Launch, ...]
    findings: tuple[Finding, ...]
    json: str = field(repr=False, compare=False)
    outputs: Any = field(default=None, repr=False, compare=False)
    #: With `store=True`: the compiled kernel and what its run did.
    stored: Any = field(default=None, repr=False, compare=False)

    @property
    def core_us(self) -> float:
        """Microseconds from the start of the first core to the end of the last, over launches."""
        return sum(launch.core_us for launch in self.launches)

    @property
    def launch_us(self) -> float:
        """Microseconds that launching costs, cold; not part of `core_us`."""
        return sum(launch.launch_us for launch in self.launches)

    @property
    def cycles(self) -> float:
        """`core_us` in core cycles."""
        return sum(launch.cycles for launch in self.launches)

    @property
    def utilisation(self) -> dict[str, dict[str, float]]:
        """Busy share of each pipe of each kind of core, weighted by the launches' cycles."""
        total: dict[str, dict[str, float]] = {}
        for launch in self.launches:
            for core, pipes in launch.utilisation.items():
                shares = total.setdefault(core, {})
                for pipe, share in pipes.items():
                    shares[pipe] = shares.get(pipe, 0.0) + share * launch.cycles / self.cycles
        return total

    @property
    def traffic(self) -> dict[str, int]:
        """Bytes moved by all launches; see `Launch.traffic`."""
        total: dict[str, int] = {}
        for launch in self.launches:
            for key, count in launch.traffic.items():
                total[key] = total.get(key, 0) + count
        return total

    @property
    def lines(self) -> list[LineCycles]:
        """Busy cycles per source line over all launches, the costliest first."""
        total: dict[Location | None, int] = {}
        for launch in self.launches:
            for place in launch.lines:
                where = place.location
                line = Location(where.file, where.line) if where else None
                total[line] = total.get(line, 0) + place.cycles
        found = [LineCycles(location, cycles) for location, cycles in total.items()]
        return sorted(found, key=lambda line: -line.cycles)

    def retime(
        self, chip: str | None = None, constants: Mapping[str, float] | None = None
    ) -> SimulationResult:
        """The same run, timed again without running the kernel.

        `chip` names another chip or a chip file, `constants` gives other values of constants of the
        chip by their keys in its file. Needs a result of `simulate(store=True)`; ArgumentError
        where the run would not have been the same, such as with another number of cores.
        """
        if self.stored is None:
            raise ArgumentError(
                "error[E0817]: nothing was kept of this run; pass store=True to simulate"
            )
        core, run = self.stored
        values = {key: float(value) for key, value in (constants or {}).items()}
        report = core.retime(run, chip or "", values)
        if not report["ok"]:
            raise ArgumentError(with_code(f"error[E0817]: kernel {self.kernel}: {report['error']}"))
        return SimulationResult.from_json(report["json"], stored=self.stored)

    def to_json(self) -> str:
        """The result as text; docs/simulation-result.md describes the fields."""
        return self.json

    @classmethod
    def from_json(cls, text: str, outputs: Any = None, stored: Any = None) -> SimulationResult:
        """The inverse of `to_json`. ValueError for text that is none or of a newer version."""
        try:
            root = json.loads(text)
        except json.JSONDecodeError as error:
            raise ValueError(
                f"error[E0817]: the simulation result is no JSON, or cut short: {error.msg} at "
                f"line {error.lineno}, column {error.colno} of {len(text)} characters"
            ) from None
        if not isinstance(root, dict) or root.get("schema") != SCHEMA:
            raise ValueError(
                f"error[E0817]: the text is no simulation result: its schema is not {SCHEMA!r}"
            )
        if root.get("version") != VERSION:
            raise ValueError(
                f"error[E0817]: the simulation result has version {root.get('version')}; this "
                f"package reads {VERSION}"
            )
        plain = ("kernel", "chip", "clock_mhz", "timing_only", "ok", "error", "instructions")
        try:
            return cls(
                **{key: root[key] for key in plain},
                error_location=_location(root["error_location"]),
                launches=tuple(_launch(entry) for entry in root["launches"]),
                findings=tuple(_finding(entry) for entry in root["findings"]),
                json=text,
                outputs=outputs,
                stored=stored,
            )
        except KeyError as error:
            raise ValueError(f"error[E0817]: the simulation result lacks {error}") from None

    def rows(self, table: str) -> list[dict[str, Any]]:
        """One of TABLES as a list of flat rows. ValueError for another name."""
        if table not in TABLES:
            raise ValueError(f"error[E0817]: no table {table!r}; there are {', '.join(TABLES)}")
        if table == "findings":
            return [_flat(vars(finding)) for finding in self.findings]
        found = []
        for launch in self.launches:
            head = {"launch": launch.name}
            if table == "launches":
                times = ("cycles", "core_us", "launch_us", "launch_warm_us")
                cores = {f"{core}_cores": count for core, count in launch.cores.items()}
                times_row = {key: getattr(launch, key) for key in times}
                found.append({**head, **times_row, **cores, **launch.traffic})
            elif table == "pipes":
                for core, pipes in launch.utilisation.items():
                    for pipe, share in pipes.items():
                        found.append({**head, "core": core, "pipe": pipe, "utilisation": share})
            else:
                found += [{**head, **_flat(vars(line))} for line in launch.lines]
        return found

    def to_pandas(self, table: str = "lines") -> Any:
        """One of TABLES as a pandas.DataFrame. ImportError when pandas is not installed."""
        rows = self.rows(table)
        try:
            import pandas
        except ImportError:
            raise MissingPackageError("error[E0817]: to_pandas", "pandas", "pandas") from None
        return pandas.DataFrame(rows)

    def _basis(self) -> str:
        from .session import basis_text

        samples = (launch.waves for launch in self.launches if launch.waves)
        return basis_text(*next(((s["timed"], s["all"]) for s in samples), (0, 0)))

    def __str__(self) -> str:
        from .session import busy_text

        if not self.ok:
            return f"{self.kernel} on {self.chip}: stopped: {self.error}"
        rows = [
            f"{self.kernel} on {self.chip}: core {self.core_us:.2f} us ({self.cycles:.0f} cycles), "
            f"launch {self.launch_us:.2f} us ({self._basis()})"
        ]
        for launch in self.launches:
            if launch.sensitivity:
                name = f"{launch.name} " if len(self.launches) > 1 else ""
                rows.append(f"  {name}core {launch.sensitivity}")
        rows += [f"  {core}: {busy_text(pipes)}" for core, pipes in self.utilisation.items()]
        rows += [f"  {f.tool}: {f.message}" for f in self.findings]
        return "\n".join(rows)


def _location(entry: Any) -> Location | None:
    return Location(entry["file"], entry["line"], entry["column"]) if entry else None


def _launch(entry: dict[str, Any]) -> Launch:
    lines = (LineCycles(_location(line["location"]), line["cycles"]) for line in entry["lines"])
    found = {key: entry[key] for key in entry if key != "alternatives"}
    if sensitivity := entry.get("sensitivity"):
        effects = (
            Effect(each["constant"], tuple(each["range"]), tuple(each["core_us"]))
            for each in sensitivity["effects"]
        )
        found["sensitivity"] = Sensitivity(**{**sensitivity, "effects": tuple(effects)})
    return Launch(**{**found, "lines": tuple(lines)})


def _finding(entry: dict[str, Any]) -> Finding:
    places = {key: _location(entry[key]) for key in ("location", "other_location")}
    return Finding(**{**entry, **places})


def _flat(values: Mapping[str, Any]) -> dict[str, Any]:
    """Locations become file and line columns."""
    row: dict[str, Any] = {}
    for key, value in values.items():
        if not key.endswith("location"):
            row[key] = value
            continue
        prefix = key.removesuffix("location")
        row[f"{prefix}file"] = value.file if value else None
        row[f"{prefix}line"] = value.line if value else None
    return row
