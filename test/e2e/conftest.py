# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The harness and the workloads of the benchmarks are imported by their plain names."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(1, str(Path(__file__).parents[2] / "bench"))
