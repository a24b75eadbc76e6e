# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Finds MLIR 19.1 and chooses between the shared libraries (libMLIR + libLLVM)
# and the static archives. MLIR_DIR, as a variable or in the environment, wins;
# else the prefix that llvm-config-19 names is a hint.

find_program(TILEWRIGHT_LLVM_CONFIG NAMES llvm-config-19 llvm-config)
set(_hints)
if(TILEWRIGHT_LLVM_CONFIG)
  execute_process(COMMAND ${TILEWRIGHT_LLVM_CONFIG} --prefix
    OUTPUT_VARIABLE _prefix OUTPUT_STRIP_TRAILING_WHITESPACE)
  set(_hints ${_prefix}/lib/cmake/mlir)
endif()

find_package(MLIR 19.1 CONFIG QUIET HINTS ${_hints})
if(NOT MLIR_FOUND)
  message(FATAL_ERROR "MLIR 19.1 was not found. On Debian 12 `make deps` installs it "
    "(libmlir-19-dev mlir-19-tools llvm-19-dev libzstd-dev); elsewhere pass "
    "-DMLIR_DIR=<prefix>/lib/cmake/mlir.")
endif()
message(STATUS "MLIR ${LLVM_PACKAGE_VERSION} in ${MLIR_DIR}")

# Debian's MLIR archives name the LLVM shared library in their link interface.
# For a fully static link each such entry becomes the archives it stands for.
if(TILEWRIGHT_STATIC)
  get_property(_archives GLOBAL PROPERTY MLIR_ALL_LIBS)
  foreach(lib IN LISTS _archives ITEMS MLIRTargetLLVMIRExport)
    if(TARGET ${lib})
      get_target_property(_links ${lib} INTERFACE_LINK_LIBRARIES)
      if(_links)
        list(TRANSFORM _links REPLACE "^LLVM$" "LLVMCore;LLVMSupport")
        list(REMOVE_DUPLICATES _links)
        set_target_properties(${lib} PROPERTIES INTERFACE_LINK_LIBRARIES "${_links}")
      endif()
    endif()
  endforeach()
endif()

# What every target that includes an MLIR header uses: include folders as system
# headers, and LLVM's own definitions.
add_library(tilewright_mlir_headers INTERFACE)
target_include_directories(tilewright_mlir_headers SYSTEM INTERFACE
  ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
separate_arguments(_definitions NATIVE_COMMAND "${LLVM_DEFINITIONS}")
target_compile_options(tilewright_mlir_headers INTERFACE ${_definitions})
