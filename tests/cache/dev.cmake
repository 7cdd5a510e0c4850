# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The tests of every day: clang 19, assertions on; the headers' code is optimised and compiled once, that of the tests is not optimised.
# Use: cmake -G Ninja -C tests/cache/dev.cmake -S . -B build/dev
set(CMAKE_CXX_COMPILER clang++-19 CACHE STRING "")
set(CMAKE_BUILD_TYPE Debug CACHE STRING "")
set(CMAKE_CXX_FLAGS_DEBUG "-O0" CACHE STRING "")
set(AUGUR_PRECOMPILE ON CACHE BOOL "")
set(AUGUR_TEST_HEADERS_ALONE OFF CACHE BOOL "") # that is left to gcc (tests/cache/gcc.cmake); here all are in two units
set(AUGUR_TEST_OPTIMISED "/tests/examples/chameleon[.]" CACHE STRING "") # a network of the examples' own learns there
set(AUGUR_BUILD_BENCH OFF CACHE BOOL "")
set(CMAKE_UNITY_BUILD ON CACHE BOOL "") # what the files of a program all include and instantiate is compiled once
