# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Facts about the simulated chip, asked of the compiler's chip description."""

from __future__ import annotations

from typing import Any

from .. import env
from ..errors import with_code


def chip_info() -> Any:
    """The description of the chip that kernels are compiled for; ValueError for an unknown one."""
    from .. import _core

    try:
        return _core.chip_info(env.compile_settings().chip)
    except ValueError as error:
        raise ValueError(with_code(str(error))) from None


class NPUUtils:
    """Numbers that scripts size their grids with."""

    @classmethod
    def get(cls) -> NPUUtils:
        """The facts; they are the same in every object."""
        return cls()

    def get_arch(self) -> str:
        return env.compile_settings().chip

    def get_aicore_num(self) -> int:
        return int(chip_info()["aic_count"])

    def get_aicube_core_num(self) -> int:
        return int(chip_info()["aic_count"])

    def get_aivector_core_num(self) -> int:
        return int(chip_info()["aiv_count"])

    def get_device_num(self) -> int:
        return 1
