#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# top_level.sh ROOT: the root of the repository holds these and nothing else; no room is empty.
cd "$1" || exit 1
failed=0
for name in $(git ls-files 2>/dev/null | sed 's|/.*||' | sort -u); do
    case $name in
    CMakeLists.txt | include | examples | tests | bench | docs | README.md | LICENSE | .*) ;;
    *) echo "$name does not belong at the top level"; failed=1 ;;
    esac
done
for program in tests/run examples/quickstart .ci/run; do
    [ -x "$program" ] || { echo "$program is not executable"; failed=1; }
done
exit $failed
