#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# llvm_unit.sh LIBRARY FILE INCLUDE_DIR GENERATED_DIR OUTPUT: builds FILE as LLVM 19 builds its own, but with C++20. With libstdc++ it is linked
# and run; with libc++ compiled only, since the distribution's LLVM is built on libstdc++. Ends with 77, aloud, when a tool is missing.
library=$1 file=$2 include=$3 generated=$4 output=$5
for tool in clang++-19 llvm-config-19; do
    command -v $tool >/dev/null || { echo "SKIPPED: $tool is not installed"; exit 77; }
done
flags=$(llvm-config-19 --cxxflags | sed 's/-std=[a-z+0-9]*//; s/-I/-isystem /g')
set -- clang++-19 $flags -std=c++20 -stdlib=$library -fno-exceptions -fno-rtti -Wall -Wextra -Wglobal-constructors -Wcovered-switch-default \
    -Wctad-maybe-unsupported -Werror -I"$include" -I"$generated" "$file"
if [ "$library" = libc++ ]; then
    echo '#include <vector>' | clang++-19 -stdlib=libc++ -fsyntax-only -x c++ - 2>/dev/null || { echo "SKIPPED: libc++-19-dev is not installed"; exit 77; }
    exec "$@" -fsyntax-only
fi
"$@" -o "$output" $(llvm-config-19 --ldflags --libs core support --link-shared) && "$output"
