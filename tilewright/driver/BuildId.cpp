// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/driver/Driver.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"

#include <algorithm>
#include <elf.h>
#include <link.h>

using namespace tilewright;
using namespace tilewright::driver;

namespace {

/// The linker's build id of a loaded object, from its notes; empty when there is none.
llvm::StringRef noteOf(const dl_phdr_info &info) {
  for (unsigned index = 0; index < info.dlpi_phnum; ++index) {
    const auto &header = info.dlpi_phdr[index];
    if (header.p_type != PT_NOTE)
      continue;
    const char *at = reinterpret_cast<const char *>(info.dlpi_addr + header.p_vaddr);
    const char *end = at + header.p_memsz;
    while (end - at >= static_cast<ptrdiff_t>(sizeof(ElfW(Nhdr)))) {
      const auto *note = reinterpret_cast<const ElfW(Nhdr) *>(at);
      const char *name = at + sizeof(*note), *data = name + llvm::alignTo(note->n_namesz, 4);
      if (note->n_type == NT_GNU_BUILD_ID &&
          llvm::StringRef(name, note->n_namesz) == llvm::StringRef("GNU\0", 4))
        return llvm::StringRef(data, note->n_descsz);
      at = data + llvm::alignTo(note->n_descsz, 4);
    }
  }
  return "";
}

bool holds(const dl_phdr_info &info, uintptr_t address) {
  for (unsigned index = 0; index < info.dlpi_phnum; ++index) {
    const auto &header = info.dlpi_phdr[index];
    uintptr_t start = info.dlpi_addr + header.p_vaddr;
    if (header.p_type == PT_LOAD && address >= start && address < start + header.p_memsz)
      return true;
  }
  return false;
}

struct Ids {
  std::string own;
  std::vector<std::string> libraries; ///< of MLIR and LLVM where they are shared
};

int visit(dl_phdr_info *info, size_t, void *data) {
  Ids &ids = *static_cast<Ids *>(data);
  llvm::StringRef file = llvm::sys::path::filename(info->dlpi_name);
  std::string id = llvm::toHex(noteOf(*info), /*LowerCase=*/true);
  if (holds(*info, reinterpret_cast<uintptr_t>(&buildId)))
    ids.own = id;
  else if (file.starts_with("libMLIR") || file.starts_with("libLLVM"))
    ids.libraries.push_back(id);
  return 0;
}

} // namespace

std::string driver::buildId() {
  static const std::string id = [] {
    Ids ids;
    dl_iterate_phdr(visit, &ids);
    std::sort(ids.libraries.begin(), ids.libraries.end());
    for (const std::string &library : ids.libraries)
      if (!ids.own.empty())
        ids.own = library.empty() ? "" : ids.own + "+" + library;
    return ids.own;
  }();
  return id;
}
