#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# alone_chains.sh AWK FOLDER: alone.awk puts a header behind another one only where it includes all that the other one includes, within one component; every
# header is in one chain. FOLDER is written.
awk=$1 folder=$2
here=$(cd "$(dirname "$0")" && pwd)
rm -rf "$folder" && mkdir -p "$folder/include/augur" && cd "$folder" || exit 1
header() { # COMPONENT NAME INCLUDED...
    echo "header $1 augur/$2.hpp" >> list
    shift
    out=include/augur/$1.hpp
    shift
    : > "$out"
    for i; do echo "#include <augur/$i.hpp>" >> "$out"; done
}
header core base
header core left base
header core right base
header core both left right
header core other                # would find `base` declared behind anything else
header nn above both             # has other libraries
header nn first above second     # two that include each other
header nn second first
"$awk" -v include=include -v out=units -f "$here/alone.awk" list > chains || exit 1
[ "$(wc -w < chains)" = 8 ] || { echo "a header is in no chain, or in two:"; cat chains; exit 1; }
status=0
expect() { # EXPRESSION: a line of chains
    grep -Eqx "$1 " chains || { echo "no chain $1 in:"; cat chains; status=1; }
}
expect 'augur/base.hpp augur/(left|right).hpp'
expect 'augur/(left|right).hpp augur/both.hpp'
expect 'augur/other.hpp'
expect 'augur/above.hpp augur/(first.hpp augur/second|second.hpp augur/first).hpp'
[ "$(grep -c '^#include' units/augur/both.cpp)" = 4 ] && ! grep -q '^#include' units/augur/base.cpp || { echo "units do not follow the chains"; status=1; }
exit $status
