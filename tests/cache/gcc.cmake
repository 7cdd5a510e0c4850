# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Every test with gcc, assertions on, and every header alone.
# Use: cmake -G Ninja -C tests/cache/gcc.cmake -S . -B build/gcc
set(CMAKE_CXX_COMPILER g++ CACHE STRING "")
set(CMAKE_BUILD_TYPE Debug CACHE STRING "")
set(CMAKE_CXX_FLAGS_DEBUG "-O1" CACHE STRING "") # -O0 costs gcc as much: every function is emitted
set(AUGUR_BUILD_BENCH OFF CACHE BOOL "")
set(CMAKE_UNITY_BUILD ON CACHE BOOL "") # what the files of a program all include and instantiate is compiled once
