#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# snippets.sh LIST ROOT: each C++ block of headers and documents, named in LIST (tests/snippets.awk), is included by a test, and no doc comment has C++ elsewhere.
wrong=0
[ -s "$1" ] || { echo "no blocks in $1"; exit 1; }
included=$(grep -rhoE --include='*.cpp' '^#include <snippets/[^>]*>' "$2/tests" | sed 's/^#include <snippets\///; s/>$//')
while read -r name; do
    printf '%s\n' "$included" | grep -qxF "$name" || { echo "no test includes <snippets/$name>"; wrong=1; }
done < "$1"
grep -rnE --include='*.hpp' '^ *///     [^ ].*;( *//.*)?$' "$2/include" && { echo "C++ in a doc comment that is not between \`\`\`cpp and \`\`\`"; wrong=1; }
exit $wrong
