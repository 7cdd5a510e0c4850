#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# consumer_include.sh COMPILER INCLUDE_DIR MAIN OUTPUT: a user who only has -I.
"$1" -std=c++20 -Wall -Wextra -Werror -I"$2" "$3" -o "$4" && "$4"
