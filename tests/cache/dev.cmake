# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The tests of every day: assertions on, optimised as far as it pays for itself.
# Use: cmake -G Ninja -C tests/cache/dev.cmake -S . -B build/dev
set(CMAKE_BUILD_TYPE Debug CACHE STRING "")
set(CMAKE_CXX_FLAGS_DEBUG "-O1" CACHE STRING "")
set(AUGUR_TEST_WAITING_OPTIONS "-Og" CACHE STRING "") # a third less to compile than -O1
set(AUGUR_BUILD_BENCH OFF CACHE BOOL "")
set(CMAKE_UNITY_BUILD ON CACHE BOOL "") # what the files of a program all include and instantiate is compiled once
