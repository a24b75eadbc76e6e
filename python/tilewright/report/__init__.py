# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What users see of a run: predicted times, findings of the checker."""
