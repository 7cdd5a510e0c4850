# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The benchmarks alone.
# Use: cmake -G Ninja -C tests/cache/bench.cmake -S . -B build/bench
set(CMAKE_BUILD_TYPE Release CACHE STRING "")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG" CACHE STRING "") # as most users compile
set(AUGUR_BUILD_BENCH ON CACHE BOOL "")
set(AUGUR_BUILD_TESTS OFF CACHE BOOL "")
set(AUGUR_BUILD_EXAMPLES OFF CACHE BOOL "")
