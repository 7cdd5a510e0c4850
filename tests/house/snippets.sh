#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# snippets.sh LIST ROOT: each C++ block of headers and documents, named in LIST (tests/snippets.awk), is included by a test, and no doc comment has C++ elsewhere.
wrong=0
[ -s "$1" ] || { echo "no blocks in $1"; exit 1; }
included=$(grep -rhoE --include='*.cpp' '^#include <snippets/[^>]*>' "$2/tests" | sed 's/^#include <snippets\///; s/>$//')
while read -r name; do
    printf '%s\n' "$included" | grep -qxF "$name" || { echo "no test includes <snippets/$name>"; wrong=1; }
done < "$1"
find "$2/include" -name '*.hpp' -exec awk '
    FNR == 1 { inside = 0 }
    /^ *\/\/\/ ```/ { inside = !inside }
    !inside && /^ *\/\/\/     [^ ].*;( *\/\/.*)?$/ { print FILENAME ":" FNR ": C++ that is not between ```cpp and ```"; bad = 1 }
    END { exit bad }' {} + || wrong=1
exit $wrong
