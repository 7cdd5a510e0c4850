# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# clang 16, assertions on.
# Use: cmake -G Ninja -C tests/cache/clang-16.cmake -S . -B build/clang-16
set(CMAKE_CXX_COMPILER clang++-16 CACHE STRING "")
set(CMAKE_BUILD_TYPE Debug CACHE STRING "")
set(CMAKE_CXX_FLAGS_DEBUG "-O1" CACHE STRING "")
set(AUGUR_BUILD_BENCH ON CACHE BOOL "")
