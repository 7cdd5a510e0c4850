#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# documents.sh FOLDER: what the documents say of the code and can be compared with it: defaults of options, fields of a machine, lengths of rows,
# rooms, links.
wrong=0
say() { echo "$1"; wrong=1; }

# docs/contributing.md, the table of options: the default is that of CMakeLists.txt.
sed -n 's/^option(\([A-Z_]*\) "[^"]*" \(.*\))$/\1 \2/p' "$1/CMakeLists.txt" > "${TMPDIR:-/tmp}/augur-options.$$"
[ -s "${TMPDIR:-/tmp}/augur-options.$$" ] || say "no option in CMakeLists.txt"
while read -r name value; do
    case $value in
    ON) expected="on" ;;
    OFF) expected="off" ;;
    *) expected="on at the top level" ;;
    esac
    row=$(grep "^|.*\`$name\`.*|" "$1/docs/contributing.md")
    [ -n "$row" ] || { say "docs/contributing.md has no row of $name"; continue; }
    told=$(echo "$row" | sed 's/ *|$//; s/.*| *//')
    [ "$told" = "$expected" ] || say "docs/contributing.md: $name is '$expected', told is '$told'"
done < "${TMPDIR:-/tmp}/augur-options.$$"
rm -f "${TMPDIR:-/tmp}/augur-options.$$"

# docs/program.md, the table of the machine file: a field alone is a member of `machine`, one behind a dot of some struct there.
types="$1/include/augur/target/machine.hpp"
own=$(sed -n '/^struct machine {$/,/operator==/p' "$types")
fields=$(sed -n '/^| field | unit, meaning |$/,/^$/p' "$1/docs/program.md" | sed -n 's/^| \(`[^|]*\) |.*/\1/p' | grep -o '`[^`]*`' | tr -d '`')
[ -n "$fields" ] || say "docs/program.md has no table of fields"
for f in $fields; do
    case $f in
    from | *.*) members=$(cat "$types") ;;
    *) members=$own ;;
    esac
    echo "$members" | grep -qE "[ ,*&>]${f##*.}( =|;|,|\{)" || say "docs/program.md: no member '$f' in target/machine.hpp"
done

# README.md: a row of a table can be read.
long=$(awk '/^\|/ && length($0) > 320 { printf " %d", NR }' "$1/README.md")
[ -z "$long" ] || say "README.md: rows above 320 characters:$long"

# Every room has a README that names its headers, and links between documents lead to a file.
for room in "$1"/include/augur/*/; do
    [ -f "$room/README.md" ] || say "$room: no README.md"
    for header in "$room"/*.hpp; do
        [ ! -e "$header" ] || grep -q "$(basename "$header" .hpp)" "$room/README.md" || say "$room/README.md does not name $(basename "$header")"
    done
done
for page in $(find "$1/README.md" "$1/docs" "$1/include" "$1/examples" -name '*.md'); do
    for link in $(awk '/^```/ { code = !code } !code' "$page" | grep -o '][(][^)#: ]*' | sed 's/^][(]//'); do
        [ -e "$(dirname "$page")/$link" ] || say "$page: no file '$link'"
    done
done
exit $wrong
