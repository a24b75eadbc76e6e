// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the launches of a kit on an Ascend NPU with AscendCL: `launcher SCRIPT [REPEATS]`. Untested on hardware.
//
// The script has a statement a line, written by run_on_npu.py:
//   buffer NAME BYTES [FILE]           device memory, filled from a file or with zeros
//   launch OBJECT FUNCTION CORES WORKSPACE_BYTES
//   argument flags|lock|workspace|tensor NAME|bits BYTES NUMBER
//   end                                of a launch's arguments
//   save NAME FILE                     after all launches

#include <acl/acl.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace {

void check(aclError code, const std::string &what) {
  if (code == ACL_SUCCESS)
    return;
  std::cerr << "launcher: " << what << " failed with code " << code << "\n";
  std::exit(1);
}

std::vector<char> contents(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    std::cerr << "launcher: " << path << " cannot be read\n";
    std::exit(1);
  }
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Buffer {
  void *memory = nullptr;
  size_t bytes = 0;
};

Buffer allocate(size_t bytes) {
  Buffer buffer{nullptr, bytes};
  size_t size = bytes ? bytes : 64;
  check(aclrtMalloc(&buffer.memory, size, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
  check(aclrtMemset(buffer.memory, size, 0, size), "aclrtMemset");
  return buffer;
}

/// One launch: its arguments one behind the other, each at a multiple of its size.
struct Launch {
  aclrtFuncHandle function = nullptr;
  uint32_t cores = 0;
  Buffer workspace, lock;
  std::vector<char> arguments;

  void add(const void *value, size_t bytes) {
    arguments.resize((arguments.size() + bytes - 1) / bytes * bytes);
    const char *from = static_cast<const char *>(value);
    arguments.insert(arguments.end(), from, from + bytes);
  }
};

template <class T> T parsed(std::istringstream &words) {
  T value{};
  words >> value;
  return value;
}

} // namespace

int main(int count, char **words) {
  if (count < 2) {
    std::cerr << "usage: launcher SCRIPT [REPEATS]\n";
    return 64;
  }
  int repeats = count > 2 ? std::atoi(words[2]) : 1;
  check(aclInit(nullptr), "aclInit");
  check(aclrtSetDevice(0), "aclrtSetDevice");
  aclrtStream stream = nullptr;
  check(aclrtCreateStream(&stream), "aclrtCreateStream");

  std::map<std::string, Buffer> buffers;
  std::vector<Launch> launches;
  std::vector<std::pair<std::string, std::string>> saved;
  std::vector<std::vector<char>> objects;
  std::ifstream script(words[1]);
  for (std::string line; std::getline(script, line);) {
    std::istringstream rest(line);
    std::string what = parsed<std::string>(rest);
    if (what == "buffer") {
      std::string name = parsed<std::string>(rest);
      Buffer &buffer = buffers[name] = allocate(parsed<size_t>(rest));
      if (std::string file = parsed<std::string>(rest); !file.empty()) {
        std::vector<char> data = contents(file);
        check(aclrtMemcpy(buffer.memory, buffer.bytes, data.data(), data.size(),
                          ACL_MEMCPY_HOST_TO_DEVICE),
              "copying " + name);
      }
    } else if (what == "launch") {
      objects.push_back(contents(parsed<std::string>(rest)));
      std::string name = parsed<std::string>(rest);
      Launch launch;
      launch.cores = parsed<uint32_t>(rest);
      launch.workspace = allocate(parsed<size_t>(rest));
      launch.lock = allocate(0);
      aclrtBinary binary = aclrtCreateBinary(objects.back().data(), objects.back().size());
      aclrtBinHandle handle = nullptr;
      check(aclrtBinaryLoad(binary, &handle), "loading the object of " + name);
      check(aclrtBinaryGetFunction(handle, name.c_str(), &launch.function), "finding " + name);
      launches.push_back(launch);
    } else if (what == "argument") {
      Launch &launch = launches.back();
      std::string kind = parsed<std::string>(rest);
      if (kind == "flags") {
        void *base = nullptr;
        check(aclrtGetHardwareSyncAddr(&base), "aclrtGetHardwareSyncAddr");
        launch.add(&base, sizeof(base));
      } else if (kind == "lock" || kind == "workspace") {
        launch.add(kind == "lock" ? &launch.lock.memory : &launch.workspace.memory, sizeof(void *));
      } else if (kind == "tensor") {
        launch.add(&buffers[parsed<std::string>(rest)].memory, sizeof(void *));
      } else if (kind == "bits") { // of a scalar, the lowest first
        auto bytes = parsed<size_t>(rest);
        auto value = parsed<uint64_t>(rest);
        launch.add(&value, bytes < sizeof(value) ? bytes : sizeof(value));
      } else {
        std::cerr << "launcher: argument of kind '" << kind << "' is not known\n";
        return 1;
      }
    } else if (what == "save") {
      std::string name = parsed<std::string>(rest);
      saved.push_back({name, parsed<std::string>(rest)});
    }
  }
  for (int turn = 0; turn < repeats; ++turn)
    for (Launch &launch : launches) {
      check(aclrtLaunchKernel(launch.function, launch.cores, launch.arguments.data(),
                              launch.arguments.size(), stream),
            "aclrtLaunchKernel");
      check(aclrtSynchronizeStream(stream), "the kernel");
    }
  for (auto &[name, path] : saved) {
    Buffer &buffer = buffers[name];
    std::vector<char> data(buffer.bytes);
    check(aclrtMemcpy(data.data(), data.size(), buffer.memory, buffer.bytes,
                      ACL_MEMCPY_DEVICE_TO_HOST),
          "copying " + name);
    std::ofstream(path, std::ios::binary).write(data.data(), std::streamsize(data.size()));
  }
  check(aclrtDestroyStream(stream), "aclrtDestroyStream");
  check(aclrtResetDevice(0), "aclrtResetDevice");
  return aclFinalize() == ACL_SUCCESS ? 0 : 1;
}
