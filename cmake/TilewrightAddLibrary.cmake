# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The helpers that the CMakeLists.txt of each folder uses:
#
#   tilewright_add_library(<name> SOURCES a.cpp ... DEPENDS support machine ...
#                          [MLIR MLIRArithDialect ...] [LLVM orcjit native ...]
#                          [EXCEPTIONS])
#     makes the library tilewright_<name>. With the word MLIR (a list may follow:
#     the archives needed by the static variant) it is an MLIR library: MLIR's
#     headers, no RTTI and, unless EXCEPTIONS is said, no exceptions. Without it
#     it is plain C++ with both, and no MLIR or LLVM header in reach. LLVM names
#     components in the sense of llvm-config. No SOURCES: headers only.
#
#   tilewright_tablegen(<name> File.td OUTPUT File.h.inc -gen-op-decls
#                                      OUTPUT File.cpp.inc -gen-op-defs ...)
#     runs mlir-tblgen for tilewright_<name>, before or after it was added.
#     File.h.inc is included as "tilewright/<folder>/File.h.inc".
#
#   tilewright_isa_sources(<name> kernels.cpp ...)
#     compiles each file once per instruction set level into tilewright_<name>,
#     with TILEWRIGHT_ISA defined to the level (v3, v4; neon on AArch64). Such a
#     file puts all it defines into a namespace named after TILEWRIGHT_ISA and
#     calls no inline function of the C++ library: the linker keeps one copy of
#     those, and it may be the one for the higher level.
#
#   tilewright_executable_options(<target>)
#     link options of what leaves the build: tools, tests, the extension.

include_guard(GLOBAL)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_SCAN_FOR_MODULES OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)

# Launch the compiler through ccache where there is one. Precompiled headers need
# the sloppiness; it is safe since clang checks the header's own contents.
find_program(TILEWRIGHT_CCACHE ccache)
if(TILEWRIGHT_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER
    env CCACHE_SLOPPINESS=pch_defines,time_macros)
  if(NOT TILEWRIGHT_PCH)
    # Without paths of its own in the objects, one checkout finds another's.
    list(APPEND CMAKE_CXX_COMPILER_LAUNCHER
      CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1)
  endif()
  list(APPEND CMAKE_CXX_COMPILER_LAUNCHER ${TILEWRIGHT_CCACHE})
endif()

# Language rules of the whole project. Floating point means what the source says
# on every target: no contraction, no fast-math.
add_library(tilewright_options INTERFACE)
target_compile_options(tilewright_options INTERFACE
  -ffp-contract=off -Wall -Wextra -Wno-unused-parameter
  $<$<CONFIG:Release>:-ffunction-sections$<SEMICOLON>-fdata-sections>)
target_include_directories(tilewright_options INTERFACE
  ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})

add_library(tilewright_mlir_options INTERFACE)
target_link_libraries(tilewright_mlir_options INTERFACE
  tilewright_options tilewright_mlir_headers)
target_compile_options(tilewright_mlir_options INTERFACE -fno-rtti
  $<$<CONFIG:RelWithDebInfo>:-O1>)
if(NOT TILEWRIGHT_STATIC)
  target_link_libraries(tilewright_mlir_options INTERFACE MLIR LLVM)
endif()

if(TILEWRIGHT_PCH)
  set(_pch_source ${PROJECT_BINARY_DIR}/tilewright_pch.cpp)
  file(CONFIGURE OUTPUT ${_pch_source} CONTENT "// Compiles the precompiled header.\n")
  add_library(tilewright_pch OBJECT ${_pch_source})
  target_link_libraries(tilewright_pch PRIVATE tilewright_mlir_options)
  target_compile_options(tilewright_pch PRIVATE -fno-exceptions)
  target_precompile_headers(tilewright_pch PRIVATE
    <cmake/MLIRHeaders.h>)
  set(CMAKE_PCH_INSTANTIATE_TEMPLATES ON)
  if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
    target_compile_options(tilewright_pch PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  endif()
endif()

function(tilewright_add_library name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "EXCEPTIONS" "" "SOURCES;DEPENDS;MLIR;LLVM")
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "tilewright_add_library(${name}): what is ${ARG_UNPARSED_ARGUMENTS}?")
  endif()
  set(is_mlir FALSE)
  if(ARG_MLIR OR "MLIR" IN_LIST ARG_KEYWORDS_MISSING_VALUES)
    set(is_mlir TRUE)
  endif()

  set(target tilewright_${name})
  if(NOT ARG_SOURCES)
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  else()
    add_library(${target} STATIC ${ARG_SOURCES})
    set(scope PUBLIC)
  endif()
  list(TRANSFORM ARG_DEPENDS PREPEND tilewright_)
  target_link_libraries(${target} ${scope} ${ARG_DEPENDS})

  if(NOT is_mlir)
    if(ARG_SOURCES)
      target_link_libraries(${target} PRIVATE tilewright_options)
    endif()
    return()
  endif()

  # Flags stay private: a user of the library with RTTI or exceptions, such as
  # the Python extension, keeps its own.
  if(ARG_SOURCES)
    target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:tilewright_mlir_options>)
    if(NOT ARG_EXCEPTIONS)
      target_compile_options(${target} PRIVATE -fno-exceptions)
      if(TILEWRIGHT_PCH)
        target_precompile_headers(${target} REUSE_FROM tilewright_pch)
        if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
          target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
        endif()
      endif()
    endif()
  endif()
  if(TILEWRIGHT_STATIC)
    set(components)
    if(ARG_LLVM)
      llvm_map_components_to_libnames(components ${ARG_LLVM})
    endif()
    target_link_libraries(${target} ${scope} ${ARG_MLIR} ${components})
  else()
    target_link_libraries(${target} ${scope} MLIR LLVM)
  endif()
  if(TARGET ${target}_tablegen)
    add_dependencies(${target} ${target}_tablegen)
  endif()
endfunction()

function(tilewright_tablegen name td)
  set(target tilewright_${name})
  set(source ${CMAKE_CURRENT_SOURCE_DIR}/${td})
  set(outputs)
  set(output)
  set(flags)
  foreach(arg IN LISTS ARGN ITEMS OUTPUT)
    if(NOT arg STREQUAL "OUTPUT")
      if(output)
        list(APPEND flags ${arg})
      else()
        set(output ${arg})
      endif()
      continue()
    endif()
    if(output)
      set(file ${CMAKE_CURRENT_BINARY_DIR}/${output})
      list(TRANSFORM MLIR_INCLUDE_DIRS PREPEND -I OUTPUT_VARIABLE includes)
      add_custom_command(OUTPUT ${file}
        COMMAND ${MLIR_TABLEGEN_EXE} ${flags} -I${PROJECT_SOURCE_DIR} ${includes}
          ${source} -o ${file} -d ${file}.d --write-if-changed
        DEPENDS ${source} ${MLIR_TABLEGEN_EXE}
        DEPFILE ${file}.d
        COMMENT "TableGen ${output}")
      list(APPEND outputs ${file})
    endif()
    set(output)
    set(flags)
  endforeach()

  string(MAKE_C_IDENTIFIER ${target}_${td} one)
  add_custom_target(${one} DEPENDS ${outputs})
  if(NOT TARGET ${target}_tablegen)
    add_custom_target(${target}_tablegen)
    if(TARGET ${target})
      add_dependencies(${target} ${target}_tablegen)
    endif()
  endif()
  add_dependencies(${target}_tablegen ${one})
endfunction()

function(tilewright_isa_sources name)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    set(levels v3 v4)
    set(flags_v3 -march=x86-64-v3)
    set(flags_v4 -march=x86-64-v4 -mprefer-vector-width=512)
  else()
    set(levels neon)
    set(flags_neon)
  endif()
  foreach(level IN LISTS levels)
    set(objects tilewright_${name}_${level})
    add_library(${objects} OBJECT ${ARGN})
    target_link_libraries(${objects} PRIVATE tilewright_options)
    target_compile_options(${objects} PRIVATE -O3 ${flags_${level}})
    target_compile_definitions(${objects} PRIVATE TILEWRIGHT_ISA=${level}
      TILEWRIGHT_ISA_${level})
    target_sources(tilewright_${name} PRIVATE $<TARGET_OBJECTS:${objects}>)
  endforeach()
endfunction()

function(tilewright_executable_options target)
  # What the cache of compiled kernels knows this build of the compiler by.
  target_link_options(${target} PRIVATE LINKER:--build-id=sha1)
  if(TILEWRIGHT_STATIC)
    target_link_options(${target} PRIVATE
      LINKER:--gc-sections LINKER:--as-needed LINKER:--exclude-libs,ALL)
    if(CMAKE_BUILD_TYPE STREQUAL Release)
      target_link_options(${target} PRIVATE -s)
    endif()
  endif()
endfunction()
