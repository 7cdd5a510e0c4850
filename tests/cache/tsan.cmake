# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Thread sanitizer.
# Use: cmake -G Ninja -C tests/cache/tsan.cmake -S . -B build/tsan
set(CMAKE_BUILD_TYPE Debug CACHE STRING "")
set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g1" CACHE STRING "")
set(CMAKE_CXX_FLAGS "-fsanitize=thread" CACHE STRING "")
set(AUGUR_BUILD_BENCH OFF CACHE BOOL "")
set(AUGUR_BUILD_EXAMPLES OFF CACHE BOOL "")
