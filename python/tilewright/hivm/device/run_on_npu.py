# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles, runs, compares and profiles the kernels of a kit; writes result.json.

Untested on hardware. Needs hivmc (or bishengir-compile), a C++ compiler and AscendCL of CANN, and
nothing of Python but its library. For each folder with a plan.json: its launches run once for the
results, then under msprof.
"""

import array
import ast
import csv
import json
import math
import os
import re
import shutil
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

SCHEMA, VERSION = "tilewright.result", 1
HERE = Path(__file__).resolve().parent
#: Element type of an .npy file -> how the bits become numbers.
KINDS = {"f4": "f", "f2": "e", "i1": "b", "u1": "B", "i2": "h", "u2": "H", "i4": "i", "u4": "I"}
KINDS |= {"i8": "q", "u8": "Q", "f8": "d", "b1": "?"}
FLOATS = {"f16": "e", "f32": "f", "f64": "d"}


def run(words: list, **options) -> subprocess.CompletedProcess:
    """A command that must succeed."""
    done = subprocess.run(words, capture_output=True, text=True, check=False, **options)
    if done.returncode:
        sys.exit(f"run_on_npu: {words[0]} failed with {done.returncode}:\n{done.stderr[-2000:]}")
    return done


def arrays(path: Path) -> dict:
    """name -> (element type, shape, bytes) of the arrays of an .npz file."""
    result = {}
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            data = archive.read(name)
            size = struct.unpack_from("<H" if data[6] == 1 else "<I", data, 8)[0]
            start = (10 if data[6] == 1 else 12) + size
            header = ast.literal_eval(data[start - size : start].decode())
            kind = header["descr"].lstrip("<|=")
            result[name.removesuffix(".npy")] = (kind, header["shape"], data[start:])
    return result


def numbers(kind: str, dtype: str, data: bytes) -> list:
    if dtype == "bfloat16":
        words = array.array("H", data)
        return list(
            struct.unpack(
                f"<{len(words)}f", b"".join(b"\0\0" + w.to_bytes(2, "little") for w in words)
            )
        )
    code = KINDS[kind]
    return list(struct.unpack(f"<{len(data) // struct.calcsize(code)}{code}", data))


def scalar_bits(kind: str, value) -> str:
    """Bytes of a scalar argument, and its bits as an unsigned number."""
    if kind in FLOATS:
        data = struct.pack("<" + FLOATS[kind], value)
    elif kind == "bf16":  # the upper half of an f32, rounded to even
        (word,) = struct.unpack("<I", struct.pack("<f", value))
        data = ((word + 0x7FFF + (word >> 16 & 1)) >> 16).to_bytes(2, "little")
    else:
        size = (int(kind.lstrip("usi") or 64) + 7) // 8 if kind != "index" else 8
        data = (int(value) % (1 << 8 * size)).to_bytes(size, "little")
    return f"{len(data)} {int.from_bytes(data, 'little')}"


def difference(found: bytes, wanted: bytes, kind: str, dtype: str) -> float:
    """The largest distance of two numbers at one place; infinite where just one is none."""
    if found == wanted:
        return 0.0
    largest = 0.0
    for a, b in zip(numbers(kind, dtype, found), numbers(kind, dtype, wanted), strict=True):
        if a == b or (a != a and b != b):
            continue
        distance = abs(float(a) - float(b))
        largest = max(largest, distance if math.isfinite(distance) else math.inf)
    return largest


def version_of(words: list) -> str:
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    found = re.search(r"\d+\.\d+(\.\w+)*", done.stdout + done.stderr)
    return found.group(0) if found else ""


def cann_version() -> str:
    home = os.environ.get("ASCEND_TOOLKIT_HOME") or os.environ.get("ASCEND_HOME_PATH") or ""
    for path in sorted(Path(home).glob("**/version.cfg")) if home else []:
        found = re.search(r"\d+\.\d+(\.\w+)*", path.read_text(errors="replace"))
        if found:
            return found.group(0)
    return ""


def versions(known: dict) -> dict:
    found = {
        "cann": cann_version(),
        "hivmc": version_of(["hivmc", "--version"]),
        "bishengir": version_of(["bishengir-compile", "--version"]),
    }
    for name, version in found.items():
        if version and version not in known[name]:
            names = ", ".join(known[name]) or "none"
            print(f"run_on_npu: {name} {version} is not known (known: {names}); going on")
    return found


def compile_launch(folder: Path, launch: dict, target: str) -> Path:
    """The object of a launch: from what hivmc takes, or else from HIVM text."""
    out = folder / (launch["name"] + ".o")
    handed = launch.get("compiled", {}).get("file")
    if handed and shutil.which("hivmc"):
        switches = ["--enable-static-bare-ptr=true", "--enable-bin-relocation=true"]
        run(
            [
                "hivmc",
                str(folder / handed),
                *switches,
                "--enable-triton-kernel-compile=true",
                "-o",
                str(out),
            ]
        )
    elif shutil.which("bishengir-compile"):
        switches = ["--enable-triton-kernel-compile=true", "--enable-hivm-compile=true"]
        switches += ["--disable-hivm-tensor-compile=true", "--disable-hivm-auto-inject-sync=true"]
        run(
            [
                "bishengir-compile",
                str(folder / launch["file"]),
                f"--target={target}",
                *switches,
                "-o",
                str(out),
            ]
        )
    else:
        sys.exit(
            "run_on_npu: neither hivmc nor bishengir-compile is on PATH; "
            "set the environment of CANN"
        )
    return out


def build_launcher() -> Path:
    home = Path(
        os.environ.get("ASCEND_TOOLKIT_HOME") or os.environ.get("ASCEND_HOME_PATH") or "/usr"
    )
    out = HERE / "launcher"
    library = home / "lib64"
    words = [
        os.environ.get("CXX", "g++"),
        "-std=c++17",
        "-O2",
        "-x",
        "c++",
        str(HERE / "launcher.cc"),
    ]
    try:
        run(
            [
                *words,
                f"-I{home / 'include'}",
                f"-L{library}",
                f"-Wl,-rpath,{library}",
                "-lascendcl",
                "-o",
                str(out),
            ]
        )
    except OSError as error:
        sys.exit(f"run_on_npu: no C++ compiler: {error}; set CXX, and the environment of CANN")
    return out


def statements(folder: Path, plan: dict, objects: list, given: dict) -> list:
    """The script of the launcher for one call of the kernel; paths are relative to the kit's
    folder, whose own name may have blanks."""
    lines, scalars = [], plan["scalars"]
    for name, (_, _, data) in given.items():
        (folder / f"{name}.in").write_bytes(data)
        lines.append(f"buffer {name} {len(data)} {folder.name}/{name}.in")
    for launch, path in zip(plan["launches"], objects, strict=True):
        words = [
            "launch",
            f"{folder.name}/{path.name}",
            launch["functions"][0],
            math.prod(launch["grid"]),
            launch["workspace_bytes"],
        ]
        lines.append(" ".join(map(str, words)))
        for argument in launch["arguments"]:
            kind = argument["kind"]
            if kind == "ffts_base_address":
                lines.append("argument flags")
            elif kind in ("sync_block_lock", "workspace"):
                lines.append("argument " + kind.removeprefix("sync_block_"))
            elif kind == "tensor":
                lines.append("argument tensor " + argument["of"])
            elif kind == "size":
                shape = given[argument["of"]][1] if "dim" in argument else ()
                value = shape[argument["dim"]] if shape else scalars[argument["symbol"]]
                lines.append(f"argument bits {scalar_bits('i64', value)}")
            elif kind == "scalar":
                bits = scalar_bits(argument["type"], scalars[argument["of"]])
                lines.append(f"argument bits {bits}")
            else:  # sizes of a grid
                value = launch["grid"]["xyz".index(kind[-1])] if "grid" in kind else 0
                lines.append(f"argument bits {scalar_bits('i32', value)}")
        lines.append("end")
    lines += [f"save {name} {folder.name}/{name}.out" for name in given]
    return lines


def profile(launcher: Path, script: Path, folder: Path) -> dict:
    """Microseconds and shares of pipes that msprof tells; empty without msprof."""
    if not shutil.which("msprof"):
        print("run_on_npu: msprof is not on PATH, no times")
        return {}
    out = folder / "msprof"
    shutil.rmtree(out, ignore_errors=True)
    run(
        [
            "msprof",
            f"--application=./{launcher.name} {folder.name}/{script.name} 10",
            f"--output={out}",
            "--aic-metrics=PipeUtilization",
        ],
        cwd=HERE,
    )
    rows = []
    for path in sorted(out.glob("**/op_summary*.csv")):
        with path.open(newline="") as file:
            rows += list(csv.DictReader(file))
    if not rows:
        return {}
    kernels: dict = {}
    for row in rows:
        kernels.setdefault(row.get("Op Name", ""), []).append(row)
    time, shares = 0.0, {}
    for launches in kernels.values():  # the fastest turn of each launch
        best = min(launches, key=lambda row: float(row.get("Task Duration(us)") or math.inf))
        time += float(best.get("Task Duration(us)") or 0)
        for key, value in best.items():
            found = re.fullmatch(r"(aic|aiv|)_?(\w+)_ratio", key or "")
            if found and value not in ("", "N/A"):
                name = f"{found.group(1)} {found.group(2)}".strip()
                shares[name] = max(shares.get(name, 0.0), float(value))
    return {"microseconds": time, "pipes": shares}


def measure(folder: Path, launcher: Path) -> dict:
    plan = json.loads((folder / "plan.json").read_text())
    given, wanted = arrays(folder / "inputs.npz"), arrays(folder / "expected.npz")
    objects = [compile_launch(folder, launch, plan["target"]) for launch in plan["launches"]]
    script = folder / "launches.txt"
    script.write_text("\n".join(statements(folder, plan, objects, given)) + "\n")
    run([str(launcher), f"{folder.name}/{script.name}"], cwd=HERE)
    dtypes = {p["name"]: p["dtype"] for p in plan["parameters"]}
    differences = {}
    for name, (kind, _, data) in wanted.items():
        found = (folder / f"{name}.out").read_bytes()
        differences[name] = difference(found, data, kind, dtypes[name])
    print(f"{plan['kernel']}: largest differences {differences}")
    return {"kernel": plan["kernel"], "folder": folder.name, "differences": differences} | profile(
        launcher, script, folder
    )


def main() -> int:
    manifest = json.loads((HERE / "kit.json").read_text())
    found = versions(manifest["known"])
    launcher = build_launcher()
    kernels = [measure(HERE / name, launcher) for name in manifest["kernels"]]
    result = {"schema": SCHEMA, "version": VERSION, "versions": found, "kernels": kernels}
    (HERE / "result.json").write_text(json.dumps(result, indent=2) + "\n")
    print("result.json is written; next: tilewright import-result " + str(HERE))
    return 0


if __name__ == "__main__":
    sys.exit(main())
