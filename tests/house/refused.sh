#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# refused.sh CONCEPT COMPILER FLAGS... FILE: the file compiles with FAIL=0 and is refused with FAIL=1. A file with lines `// expect: text` must be refused in
# these words, any other one by a constraint and in words that name the concept.
concept=$1
shift
for file; do :; done
"$@" -DFAIL=0 || { echo "refused without the mistake"; exit 1; }
message=$("$@" -DFAIL=1 2>&1) && { echo "the mistake was accepted"; exit 1; }
expected=$(sed -n 's|^// expect: ||p' "$file")
if [ -n "$expected" ]; then
    echo "$expected" | while IFS= read -r text; do
        case $message in
        *"$text"*) ;;
        *) echo "the refusal does not say '$text':"; echo "$message"; exit 1 ;;
        esac
    done
    exit $?
fi
case $message in
*"'$concept"* | *"${concept}<"* | *"concept $concept"* | *"augur::$concept"* | *"v0::$concept"* | *"crop::$concept"*) ;;
*) echo "the refusal does not name $concept:"; echo "$message"; exit 1 ;;
esac
case $message in
*constraint*) ;;
*) echo "refused, but not by a constraint:"; echo "$message"; exit 1 ;;
esac
