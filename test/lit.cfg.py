# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lit configuration: every .mlir and .test file below test/ is a shell test."""

import os

import lit.formats

config.name = "tilewright"
config.test_format = lit.formats.ShTest(False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["python", "e2e", "fuzz", "checker", "Inputs"]
config.test_source_root = os.path.join(config.tilewright_source, "test")
config.test_exec_root = os.path.join(config.tilewright_build, "test")

# tilewright-opt of this build; FileCheck, not and count of the LLVM it uses.
config.environment["PATH"] = os.pathsep.join(
    [
        os.path.join(config.tilewright_build, "bin"),
        config.llvm_tools,
        os.environ["PATH"],
    ]
)
