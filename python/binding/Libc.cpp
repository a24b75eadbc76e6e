// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the LLVM of the build machine takes from a C library that is newer than the one a wheel may
// ask for. These definitions stay inside the extension.
#include <cstdint>
#include <cstdlib>
#include <sys/random.h>

/// glibc has it since 2.36. LLVM names temporary files with it.
extern "C" uint32_t arc4random() noexcept {
  uint32_t value = 0;
  if (getrandom(&value, sizeof(value), 0) != sizeof(value))
    std::abort(); // as arc4random does where there is no source of random numbers
  return value;
}
