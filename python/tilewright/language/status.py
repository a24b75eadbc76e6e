# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is there of TileLang's names: implemented, accepted as a hint, not yet, or only for GPUs."""

from __future__ import annotations

import difflib

IMPLEMENTED = "implemented"
HINT = "accepted hint"
NOT_YET = "not yet"
GPU_ONLY = "GPU-only"

#: Names with a meaning on the NPU that are still to come, and what to use until then.
LATER: dict[str, str] = {
    "atomic_or": "use T.atomic_add, T.atomic_max or T.atomic_min",
    "atomic_store": "copy a tile into the tensor",
    "rng_init": "pass random numbers in a tensor",
    "rng_rand": "pass random numbers in a tensor",
    "rng_rand_float": "pass random numbers in a tensor",
    "loop_break": "use `while` with a condition",
    "index_to_coordinates": "use // and %",
    "Broadcast": "use T.Parallel",
    "alloc_buffer": "use T.alloc_shared or T.alloc_fragment",
    "buffer_store": "assign to the element: A[i] = value",
    "type_annotation": "annotate with an element type such as T.float32",
    "sblock": "use T.Kernel",
    "sblock_attr": "use T.Kernel",
    "__ffs": "compute it with shifts and T.if_then_else",
    "gemm_sp": "use T.gemm on the dense matrix",
    "call_extern": "foreign code cannot run on the simulated NPU: write the operation with T.*",
    "call_intrin": "foreign code cannot run on the simulated NPU: write the operation with T.*",
    "import_source": "foreign code cannot run on the simulated NPU: write the operation with T.*",
    "async_copy": "use T.copy",
    "sync_grid": "use one launch per step: launches wait for each other",
    "comm_reducer": "use T.reduce_sum and its relatives on a tile",
    "SimdVF": "use T.Parallel",
    "SimtVF": "use T.Parallel",
    "clz": "compute it with shifts and T.if_then_else",
    "popcount": "compute it with shifts and masks",
    "float4_e2m1_unpacked": "use T.float4_e2m1fn, two elements to a byte",
    "dtypes._TORCH_DTYPE_TO_STR": "an inner table of TileLang: use T.dtype",
}

#: Names of the package that are still to come or will not, by what they begin with: why, or what
#: does the same here.
HOST_LATER: dict[str, str] = {
    **dict.fromkeys(
        (
            *("L2Wrap", "_infer_recurrent", "compiled_l2wrap", "fused_post_norm_tokenshift"),
            *("norm", "prepare", "readout", "tmix_wkv7_recurrent", "tokenshift", "vres"),
        ),
        "a name of another package that calls itself tilelang",
    ),
    "ascend.language": "instructions on vector registers: use T.Parallel",
    "contrib.cc": "foreign code cannot run on the simulated NPU",
    "env.CUDA_HOME": "there is no CUDA here",
    "jit.adapter": "inner parts of TVM's run time: call the kernel",
    "layout.make_wgmma": "a layout of GPU tensor cores: leave it out",
    "tileop.base": "inner parts of TileLang: see docs/guides/custom-operators.md",
    "tools.Analyzer": "use `tilewright explain`",
    "tools.plot_layout": "draws layouts of GPU threads",
    "tvm.": "TVM is not here; what kernels and tests use of it is in tilelang.tvm.tir",
    "utils.device": "asks for GPUs: use tilelang.utils.NPUUtils",
}

#: Names of Triton and NumPy, and what does the same here.
_ELSEWHERE: dict[str, str] = {
    "load": "copy a part of the tensor into a tile: T.copy(A[i * 64, 0], tile)",
    "store": "copy the tile into the tensor: T.copy(tile, C[i * 64, 0])",
    "program_id": "`with T.Kernel(n, m) as (x, y)` gives the numbers of the block",
    "num_programs": "use T.get_block_extent",
    "make_block_ptr": "T.copy takes a corner A[i, j] or a region A[a:b, c:d]",
    "zeros": "allocate with T.alloc_fragment(shape, dtype) and use T.clear or T.fill",
    "ones": "allocate with T.alloc_fragment(shape, dtype) and use T.fill",
    "full": "allocate with T.alloc_fragment(shape, dtype) and use T.fill",
    "dot": "use T.gemm(a, b, c), which adds the product to c",
    "matmul": "use T.gemm(a, b, c), which adds the product to c",
    "sum": "use T.reduce_sum(tile, out, dim)",
    "mean": "use T.reduce_sum(tile, out, dim) and divide",
    "where": "use T.if_then_else(condition, x, y) on elements, or T.vselect on tiles",
    "cdiv": "use T.ceildiv",
    "maximum": "use T.max on elements, or T.vmax on tiles",
    "minimum": "use T.min on elements, or T.vmin on tiles",
    "constexpr": "a parameter without a tensor type is a compile-time number",
    "static_range": "use a Python loop over a tuple, or T.unroll",
    "num_warps": "leave it out",
}

#: Names of GPU hardware, by what they begin with or in full, and what to use in their place.
_GPU: dict[str, str] = {
    "get_lane_idx": "use T.Parallel",
    "get_warp_idx": "use T.Parallel",
    "get_warp_group_idx": "use T.Parallel",
    "thread_return": "use `if`",
    "alloc_barrier": "T.copy and T.gemm wait for their data by themselves",
    "alloc_cluster_barrier": "T.copy and T.gemm wait for their data by themselves",
    "alloc_tmem": "use T.alloc_fragment",
    "alloc_descriptor": "leave it out",
    "alloc_wgmma_desc": "leave it out",
    "barrier_": "T.copy and T.gemm wait for their data by themselves",
    "named_barrier_": "T.copy and T.gemm wait for their data by themselves",
    "mbarrier_": "T.copy and T.gemm wait for their data by themselves",
    "cp_async_": "use T.copy",
    "ptx_": "use T.copy and T.gemm",
    "tma_": "use T.copy",
    "create_tma_descriptor": "use T.copy",
    "copy_cluster": "use T.copy",
    "wgmma_": "use T.gemm",
    "wait_wgmma": "use T.gemm, which is complete when it returns",
    "warpgroup_": "use T.gemm",
    "tcgen05_": "use T.gemm",
    "initialize_": "use T.gemm",
    "increase_descriptor_offset": "use T.gemm",
    "mma_": "use T.gemm",
    "ClusterKernel": "use T.Kernel",
    "cluster_": "use T.Kernel",
    "block_rank_in_cluster": "use T.Kernel",
    "clc_": "use T.Persistent",
    "PersistentTileScheduler": "use T.Persistent",
    "shfl_": "use T.reduce_sum and its relatives on a tile",
    "shuffle_elect": "use T.reduce_sum and its relatives on a tile",
    "tvm_": "use T.reduce_sum and its relatives on a tile",
    "warp_reduce_": "use T.reduce_sum and its relatives on a tile",
    "any_sync": "use T.any_of",
    "all_sync": "use T.all_of",
    "ballot": "use T.any_of",
    "match_": "use T.reduce_sum and its relatives on a tile",
    "sync_warp": "leave it out",
    "dp4a": "use T.gemm on int8 tiles",
    "ws": "leave the choice of cores to the compiler",
    "ws_op": "leave the choice of cores to the compiler",
    "WS": "leave the choice of cores to the compiler",
    "annotate_ws_schedule": "leave the choice of cores to the compiler",
    "access_ptr": "pass a region such as A[i:j, :]",
    "address_of": "pass an element or region such as A[i, j]",
}


def gpu_advice(name: str) -> str | None:
    """What to use in place of a GPU name; None for other names."""
    for key, advice in _GPU.items():
        if (
            name == key
            or (key.endswith("_") and name.startswith(key))
            or (key == "WS" and name.startswith(key))
        ):
            return advice
    return None


def status(name: str) -> str:
    """Status of a name of the kernel language, without `T.`."""
    from . import hints

    if name in hints.NAMES or name.split(".")[0] in (
        "annotate_layout",
        "GemmWarpPolicy",
        "Layout",
        "Fragment",
        "attr",
    ):
        return HINT
    if name in LATER:
        return NOT_YET
    if gpu_advice(name) is not None:
        return GPU_ONLY
    import tilewright.language as language

    found: object = language
    for part in name.split("."):
        if not hasattr(found, part):
            return NOT_YET
        found = getattr(found, part)
    from ..dtypes import NOT_YET as later_types
    from ..dtypes import DType

    return NOT_YET if isinstance(found, DType) and found in later_types else IMPLEMENTED


def missing(name: str) -> str:
    """The message for a name that the language does not have."""
    if name.startswith("__"):
        return f"module 'tilewright.language' has no attribute {name!r}"
    advice = gpu_advice(name)
    if advice is not None:
        return (
            f"error[E0122]: T.{name} is GPU-only: it controls hardware that the NPU does not have; "
            f"{advice}"
        )
    if name in LATER:
        return f"error[E0122]: T.{name} is not supported yet; {LATER[name]}"
    if name in _ELSEWHERE:
        return f"error[E0121]: T.{name} is not a name of the kernel language; {_ELSEWHERE[name]}"
    import tilewright.language as language

    known = [n for n in dir(language) if not n.startswith("_")]
    close = difflib.get_close_matches(name, known, n=3)
    hint = f"; did you mean {' or '.join('T.' + c for c in close)}?" if close else ""
    return f"error[E0121]: T.{name} is not a name of the kernel language that tilewright has{hint}"
