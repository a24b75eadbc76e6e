# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command `tilewright`."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time


def call(*words: str, **options) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tilewright", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **options)


def script(tmp_path, text: str) -> str:
    path = tmp_path / "script.py"
    path.write_text(textwrap.dedent(text))
    return str(path)


def test_version_and_doctor():
    assert call("--version").stdout.startswith("tilewright ")
    done = call("doctor")
    assert done.returncode == 0 and "compiler: tilewright" in done.stdout


def test_import_is_light():
    code = (
        "import sys, tilewright; assert 'torch' not in sys.modules and 'numpy' not in sys.modules"
    )
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    assert time.perf_counter() - start < 1


def test_script_sees_its_arguments_and_folder(tmp_path):
    (tmp_path / "helper.py").write_text("value = 7\n")
    path = script(
        tmp_path,
        """
        import sys, helper
        assert __name__ == "__main__" and sys.argv[1:] == ["--x", "3", "-m"] and helper.value == 7
        sys.exit(5)
        """,
    )
    assert call("run", path, "--x", "3", "-m").returncode == 5


def test_module(tmp_path):
    (tmp_path / "thing.py").write_text("import sys; print(sys.argv[1:], __name__)\n")
    done = call("run", "-m", "thing", "a", "--b", cwd=tmp_path)
    assert done.stdout == "['a', '--b'] __main__\n", done.stderr


def test_missing_script():
    done = call("run", "no_such_file.py")
    assert done.returncode == 1 and "no file no_such_file.py" in done.stderr


def test_options_reach_children(tmp_path):
    path = script(
        tmp_path,
        """
        import os
        for name in ("CHIP", "TIME", "CHECK", "DELAY", "ENGINE", "OPT_LEVEL"):
            print(name, os.environ["TILEWRIGHT_" + name])
        """,
    )
    done = call(
        *["run", "--chip", "910b2", "--time", "--check", "--delay", "3", "--engine", "interpreter"],
        *["--opt-level", "0", path],
    )
    assert done.stdout.split() == (
        [
            "CHIP",
            "910b2",
            "TIME",
            "1",
            "CHECK",
            "1",
            "DELAY",
            "3",
            "ENGINE",
            "interpreter",
            "OPT_LEVEL",
            "0",
        ]
    )


def test_error_in_a_kernel_shows_the_users_line_only(tmp_path):
    path = script(
        tmp_path,
        """
        import tilelang, tilelang.language as T

        @T.prim_func
        def main(A: T.Tensor((8, 8), "float16")):
            with T.Kernel(1, threads=128):
                tile = T.alloc_shared((4, 8), "float16")
                T.gemm(A)
        """,
    )
    done = call("run", path)
    assert done.returncode == 1
    assert "T.gemm(A)" in done.stderr and "^~~~~~~~~" in done.stderr
    assert os.sep + "frontend" + os.sep not in done.stderr


def test_bad_environment(tmp_path):
    path = script(
        tmp_path,
        """
        import tilelang, tilelang.language as T

        @T.prim_func
        def main(A: T.Tensor((8,), "float16")):
            with T.Kernel(1):
                A[0] = 1

        tilelang.compile(main)
        """,
    )
    environment = {**os.environ, "TILEWRIGHT_ENGINE": "quantum"}
    done = call("run", path, env=environment)
    assert done.returncode == 1
    assert "TILEWRIGHT_ENGINE='quantum' is not one of simulator, interpreter" in done.stderr


TWO_KERNELS = """
import numpy as np
import tilewright as tilelang
import tilewright.language as T

@tilelang.jit
def scaled(A, factor):
    A: T.Tensor((8, 32), T.float32)
    C = T.empty((8, 32), T.float32)
    with T.Kernel(1):
        x = T.alloc_shared((8, 32), T.float32)
        T.copy(A, x)
        for i, j in T.Parallel(8, 32):
            x[i, j] = x[i, j] * factor
        T.copy(x, C)
    return C

a = np.ones((8, 32), np.float32)
print(scaled(a, 2.0).max(), scaled(a, 3.0).max())
"""


def test_sources_of_several_kernels_are_one_module(tmp_path):
    (tmp_path / "two.py").write_text(TWO_KERNELS)
    found = call("run", "--emit", "expert", "two.py", cwd=tmp_path)
    assert found.returncode == 0, found.stderr
    assert found.stdout.count("import tilewright as tilelang") == 1
    use = """
        import numpy as np
        from emitted import scaled_kernel, scaled_kernel_2
        for kernel in (scaled_kernel, scaled_kernel_2):
            print(kernel(np.ones((8, 32), np.float32)).max())
    """
    (tmp_path / "emitted.py").write_text(found.stdout)
    (tmp_path / "use.py").write_text(textwrap.dedent(use))
    again = call("run", "use.py", cwd=tmp_path)
    assert again.stdout.split() == ["2.0", "3.0"], again.stderr
