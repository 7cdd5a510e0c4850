#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# component_deps.sh AWK NINJA BUILD_DIR LIST: what the header-alone units really included, as the compiler told Ninja: each component has read headers of
# itself, of the components that it names, and of the libraries that it names, even where the system's include folder has more. LIST is component_deps.txt.
# Ends with 77 where the build is not Ninja's.
awk=$1 ninja=$2 build=$3 list=$4
[ -f "$build/build.ninja" ] || { echo "SKIPPED: not a build by Ninja"; exit 77; }
here=$(cd "$(dirname "$0")" && pwd)
"$ninja" -C "$build" -t deps | "$awk" -f "$here/component_deps.awk" "$list" -
