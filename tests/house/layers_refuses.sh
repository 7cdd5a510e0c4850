#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# layers_refuses.sh AWK DIR: each header below DIR is out of place; its last line, `// expect: text`, says what layers.awk must find.
here=$(cd "$(dirname "$0")" && pwd)
awk=$1
cd "$2" || exit 1
failed=0
for file in $(find augur -name '*.hpp'); do
    want=$(sed -n 's|^// expect: ||p' "$file")
    got=$("$awk" -f "$here/layers.awk" "$file") && { echo "$file: passed, expected: $want"; failed=1; continue; }
    case $got in
    *"$want"*) ;;
    *) echo "$file: expected: $want"; echo "$got"; failed=1 ;;
    esac
done
exit $failed
