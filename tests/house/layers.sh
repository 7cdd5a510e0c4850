#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# layers.sh AWK INCLUDE_DIR: no header includes against the flow, or is out of form. Prints every finding, then their number.
here=$(cd "$(dirname "$0")" && pwd)
awk=$1
cd "$2" || exit 1
find augur -name '*.hpp' | LC_ALL=C sort | xargs "$awk" -f "$here/layers.awk"
