# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Address and undefined-behaviour sanitizers; any finding ends the test.
# Use: cmake -G Ninja -C tests/cache/asan-ubsan.cmake -S . -B build/asan-ubsan
set(CMAKE_BUILD_TYPE Debug CACHE STRING "")
set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g1" CACHE STRING "")
set(CMAKE_CXX_FLAGS "-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer" CACHE STRING "")
set(AUGUR_BUILD_BENCH OFF CACHE BOOL "")
set(AUGUR_BUILD_EXAMPLES OFF CACHE BOOL "")
