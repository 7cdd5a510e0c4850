#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# refused.sh CONCEPT COMPILER FLAGS... FILE: the file compiles with FAIL=0 and is refused with FAIL=1 in words that name the concept.
concept=$1
shift
"$@" -DFAIL=0 || { echo "refused without the mistake"; exit 1; }
said=$("$@" -DFAIL=1 2>&1) && { echo "the mistake was accepted"; exit 1; }
case $said in
*"'$concept"* | *"${concept}<"* | *"concept $concept"* | *"augur::$concept"* | *"v0::$concept"*) ;;
*) echo "the refusal does not name $concept:"; echo "$said"; exit 1 ;;
esac
case $said in
*constraint*) ;;
*) echo "refused, but not by a constraint:"; echo "$said"; exit 1 ;;
esac
