# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What users run: the quickstart and the other examples.
# Use: cmake -G Ninja -C tests/cache/release.cmake -S . -B build/release
set(CMAKE_BUILD_TYPE Release CACHE STRING "")
set(AUGUR_BUILD_BENCH OFF CACHE BOOL "")
set(AUGUR_BUILD_TESTS OFF CACHE BOOL "")
