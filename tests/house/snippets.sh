#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# snippets.sh LIST TESTS: each C++ block of headers and documents, named in LIST (tests/snippets.awk), is included by a test.
wrong=0
[ -s "$1" ] || { echo "no blocks in $1"; exit 1; }
included=$(grep -rhoE --include='*.cpp' '^#include <snippets/[^>]*>' "$2" | sed 's/^#include <snippets\///; s/>$//')
while read -r name; do
    printf '%s\n' "$included" | grep -qxF "$name" || { echo "no test includes <snippets/$name>"; wrong=1; }
done < "$1"
exit $wrong
