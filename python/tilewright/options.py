# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Options of TileLang's compile calls: which mean something here, which are hints for GPUs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .env import CompileSettings
from .keywords import advice

#: Prefixes of TVM's own options, which TileLang hands on. They steer passes for GPUs: hints here.
OTHERS = ("tir.", "tirx.", "s_tir.", "relax.", "cuda.", "tvm.", "disable_")

#: Pass options of the published TileLangs. Those without a meaning below are hints for GPUs.
KNOWN = (
    *("npuir.enable_auto_multi_buffer", "npuir.disable_hivm_auto_inject_sync"),
    *("tl.Simplify", "tl.UnrollLoop", "tl.ast_print_enable", "tl.config_index_bitwidth"),
    *("tl.debug_merge_shared_memory_allocations", "tl.device_compile_flags"),
    *("tl.disable_buffer_init_check", "tl.disable_data_race_check", "tl.disable_fast_math"),
    *("tl.disable_dynamic_tail_split", "tl.disable_loop_unswitching"),
    *("tl.disable_out_of_bound_warning", "tl.disable_prelower_semantic_check"),
    *("tl.disable_safe_memory_access", "tl.disable_safe_memory_legalize"),
    *("tl.disable_shared_memory_reuse", "tl.disable_shuffle_elect"),
    *("tl.disable_thread_storage_sync", "tl.disable_tma_lower", "tl.disable_vectorize_256"),
    *("tl.disable_warp_specialized", "tl.disable_wgmma", "tl.dump_ir_path"),
    *("tl.dynamic_alignment", "tl.dynamic_vectorize_size_bits", "tl.emit_line_directives"),
    *("tl.enable_aggressive_shared_memory_merge", "tl.enable_async_copy"),
    *("tl.enable_auto_schedule", "tl.enable_dump_ir", "tl.enable_fast_math"),
    *("tl.enable_lower_ldgstg", "tl.enable_lower_ldgstg_predicated"),
    *("tl.enable_plan_and_update_buffer_allocation", "tl.enable_ptxas_verbose_output"),
    *("tl.enable_reducer_plan_verbose", "tl.enable_vectorize_planner_verbose"),
    *("tl.force_let_inline", "tl.if_stmt_binding_inline_replayable_binds"),
    *("tl.layout_cost_model", "tl.layout_visualization_enable"),
    *("tl.layout_visualization_formats", "tl.loop_unswitching_allow_non_trivial_else"),
    *("tl.pass_profile", "tl.pass_profile_threshold_ms", "tl.ptxas_register_usage_level"),
    *("tl.reducer_force_baseline", "tl.storage_rewrite_detect_inplace"),
)
_FOLDED = {key.lower() for key in KNOWN}


class Key(str):
    """The name of a pass option; `.value` is the text as well."""

    __slots__ = ()

    @property
    def value(self) -> str:
        return str(self)


class _Keys(type):
    """Gives every TL_*, TIR_*, NPUIR_*, CUDA_* name: unknown ones are hints for other targets."""

    def __getattr__(cls, name: str) -> Key:
        prefix, _, rest = name.partition("_")
        if not rest or not name.isupper():
            raise AttributeError(f"PassConfigKey has no attribute {name!r}")
        key = f"{prefix.lower()}.{rest.lower()}"
        if key not in _FOLDED and not key.startswith(OTHERS):
            names = dir(cls)
            raise AttributeError(
                f"error[E0911]: PassConfigKey has no attribute {name!r}"
                + advice(name, names, "dir(PassConfigKey) has all names")
            )
        return Key(key)

    def __dir__(cls) -> list[str]:
        return [known.upper().replace(".", "_") for known in KNOWN]


class PassConfigKey(metaclass=_Keys):
    """Names of pass options, for example PassConfigKey.TL_ENABLE_FAST_MATH."""


def check_pass_configs(configs: Mapping[Any, Any] | None) -> None:
    """Refuses keys that no TileLang defines with ValueError: they are most likely misspelt."""
    for key in configs or {}:
        text = str(getattr(key, "value", key))
        if text.lower() not in _FOLDED and not text.startswith(OTHERS):
            raise ValueError(
                f"error[E0911]: pass option {text!r} is not known"
                + advice(text, KNOWN, "dir(tilelang.PassConfigKey) has all names")
            )


#: Pass options with a meaning here, and the stages that a value switches off.
AUTO_SLOTS = "npuir.enable_auto_multi_buffer"
MANUAL_SYNC = "npuir.disable_hivm_auto_inject_sync"


def with_pass_configs(
    settings: CompileSettings, configs: Mapping[Any, Any] | None
) -> CompileSettings:
    """The settings of one kernel: its pass options may leave slots or order to the author."""
    given = {str(getattr(k, "value", k)): v for k, v in (configs or {}).items()}
    disable = settings.disable
    if not given.get(AUTO_SLOTS, True):
        disable = (*disable, "pipeline")
    manual = bool(given.get(MANUAL_SYNC, False))
    return replace(settings, disable=disable, manual_sync=manual)


def output_positions(out_idx: Any, count: int) -> tuple[int, ...]:
    """`out_idx` as positions from the front; raises ValueError for one out of range."""
    if out_idx is None:
        return ()
    indices = list(out_idx) if isinstance(out_idx, (list, tuple)) else [out_idx]
    found = []
    for index in indices:
        if not hasattr(index, "__index__"):
            raise ValueError(
                f"error[E0809]: out_idx holds {index!r}; positions of parameters are integers"
            )
        position = index.__index__()
        if not -count <= position < count:
            raise ValueError(
                f"error[E0809]: out_idx {position} is out of range: the kernel has {count} "
                f"parameters (allowed are {-count} to {count - 1})"
            )
        found.append(position % count)
    if len(set(found)) != len(found):
        raise ValueError(f"error[E0809]: out_idx {list(indices)} names a parameter twice")
    return tuple(found)
