// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// As much of AscendCL as the launcher of a kit calls, for tests without a device.

#include <cstddef>
#include <cstdint>

using aclError = int;
using aclrtStream = void *;
using aclrtBinary = void *;
using aclrtBinHandle = void *;
using aclrtFuncHandle = void *;
constexpr int ACL_SUCCESS = 0;
enum aclrtMemMallocPolicy { ACL_MEM_MALLOC_HUGE_FIRST };
enum aclrtMemcpyKind { ACL_MEMCPY_HOST_TO_DEVICE = 1, ACL_MEMCPY_DEVICE_TO_HOST = 2 };

extern "C" {
aclError aclInit(const char *);
aclError aclFinalize();
aclError aclrtSetDevice(int32_t);
aclError aclrtResetDevice(int32_t);
aclError aclrtCreateStream(aclrtStream *);
aclError aclrtDestroyStream(aclrtStream);
aclError aclrtSynchronizeStream(aclrtStream);
aclError aclrtMalloc(void **, size_t, aclrtMemMallocPolicy);
aclError aclrtMemset(void *, size_t, int32_t, size_t);
aclError aclrtMemcpy(void *, size_t, const void *, size_t, aclrtMemcpyKind);
aclrtBinary aclrtCreateBinary(const void *, size_t);
aclError aclrtBinaryLoad(aclrtBinary, aclrtBinHandle *);
aclError aclrtBinaryGetFunction(aclrtBinHandle, const char *, aclrtFuncHandle *);
aclError aclrtGetHardwareSyncAddr(void **);
aclError aclrtLaunchKernel(aclrtFuncHandle, uint32_t, const void *, size_t, aclrtStream);
}
