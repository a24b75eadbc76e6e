#!/bin/sh
# Compiles and runs the kernels of this kit on an Ascend NPU. Needs CANN (its environment set) and Python.
# Untested on hardware.
cd "$(dirname "$0")" && exec "${PYTHON:-python3}" run_on_npu.py "$@"
