# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests compile what they test: only those of the cache on disk switch it on, in their folder."""

import os

os.environ["TILEWRIGHT_CACHE"] = "0"
