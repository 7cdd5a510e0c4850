# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Writes each C++ block of headers and documents to a file that a test includes: <out>/<header below include/augur, or document>.<n>.inc. A block stands between
# ```cpp and ```, in a header behind ///. Its #include lines are left out: the test includes what it needs. `-v root=FOLDER/ -v out=FOLDER`.
# A file is rewritten only where its text changes, so that nothing else is compiled again. Prints the names of the blocks.

function finish(    old, line) {
    old = ""
    while ((getline line < target) > 0) old = old line "\n"
    close(target)
    if (old != text) { printf "%s", text > target; close(target) }
    print name
}
FNR == 1 {
    path = FILENAME
    path = substr(path, length(root) + 1)
    sub("^include/augur/", "", path)
    count = 0
    in_block = 0
}
{
    line = $0
    if (path ~ /\.hpp$/ && !sub(/^ *\/\/\/ ?/, "", line)) line = ""
}
line == "```cpp" {
    in_block = 1
    name = path "." ++count ".inc"
    target = out "/" name
    folder = target
    sub(/\/[^\/]*$/, "", folder)
    system("mkdir -p '" folder "'")
    text = "#line " FNR + 1 " \"" FILENAME "\"\n"
    next
}
in_block && line == "```" { in_block = 0; finish(); next }
in_block { text = text (line ~ /^#include/ ? "" : line) "\n"; next }
# Code outside of a block would not be compiled.
path ~ /\.hpp$/ && line ~ /^    [^ ].*;( *\/\/.*)?$/ { print FILENAME ":" FNR ": code outside of a block: " line > "/dev/stderr"; bad = 1 }
END { exit bad }
