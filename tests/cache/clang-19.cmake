# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# clang 19, assertions on.
# Use: cmake -G Ninja -C tests/cache/clang-19.cmake -S . -B build/clang-19
set(CMAKE_CXX_COMPILER clang++-19 CACHE STRING "")
set(CMAKE_BUILD_TYPE Debug CACHE STRING "")
set(CMAKE_CXX_FLAGS_DEBUG "-O1" CACHE STRING "")
set(AUGUR_BUILD_BENCH ON CACHE BOOL "")
