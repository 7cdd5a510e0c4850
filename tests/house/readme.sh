#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# readme.sh README EXAMPLE: the one C++ block of the README is the example, without its licence line.
shown=$(awk '/^```cpp$/ { on = 1; next } /^```$/ { on = 0 } on' "$1")
kept=$(sed '1{/SPDX/d;}' "$2")
[ -n "$shown" ] || { echo "no C++ block in $1"; exit 1; }
[ "$shown" = "$kept" ] && exit 0
echo "the C++ block of $1 differs from $2"
exit 1
