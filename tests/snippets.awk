# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Writes each C++ block of headers and documents to a file that a test includes: <out>/<header below include/augur, or document>.<n>.inc. A block stands between
# ```cpp and ```, in a header behind ///. Its #include lines are left out: the test includes what it needs. `-v root=FOLDER/ -v out=FOLDER`; the input are
# the names of the files, one a line. A file is rewritten only where its text changes, so that nothing else is compiled again. Prints the names of the blocks.

function finish(    old, line) {
    old = ""
    while ((getline line < target) > 0) old = old line "\n"
    close(target)
    if (old != text) { printf "%s", text > target; close(target) }
    print name
}
function extract(path,    short, line, number, count, in_block, folder) {
    short = substr(path, length(root) + 1)
    sub("^include/augur/", "", short)
    while ((getline line < path) > 0) {
        number++
        if (path ~ /\.hpp$/ && !sub(/^ *\/\/\/ ?/, "", line)) line = ""
        if (line == "```cpp") {
            in_block = 1
            name = short "." ++count ".inc"
            target = out "/" name
            folder = target
            sub(/\/[^\/]*$/, "", folder)
            system("mkdir -p '" folder "'")
            text = "#line " number + 1 " \"" path "\"\n"
        } else if (in_block && line == "```") {
            in_block = 0
            finish()
        } else if (in_block) {
            text = text (line == "" || line ~ /^#include/ ? "" : "                " line) "\n" # indented, so that the line after it is not taken for a body
        }
    }
    close(path)
}
{ extract($0) }
