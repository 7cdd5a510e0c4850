# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Writes the units that prove that every header stands alone: <out>/<header>.cpp for each line "header COMPONENT PATH" of the input. `-v include=FOLDER -v out=FOLDER`.
# A header proves as much behind another one whose includes, with theirs, are all among its own: what stands before it then declares nothing that it does not
# include itself. So the headers of a component form chains, each in one unit, which is compiled at the price of its last header (two fifths of all headers one by
# one); the units of the others are empty. An #include within #ifdef is taken for one that is read: the macros of all components that are built are set.
# A file is rewritten only where its text changes. Prints the headers of each chain.

# closure[h, g]: compiling h reads g. size[h]: how many there are.
function close_over(h, g,    i) {
    if ((h, g) in closure) return
    closure[h, g] = 1
    size[h]++
    for (i = 1; i <= includes[g]; i++) close_over(h, included[g, i])
}
function read_includes(h,    line) {
    while ((getline line < (include "/" h)) > 0)
        if (line ~ /^ *# *include <augur\//) {
            gsub(/^[^<]*<|>.*$/, "", line)
            included[h, ++includes[h]] = line
        }
    close(include "/" h)
}
function write(h, text,    old, line, target, folder) {
    target = out "/" h
    sub(/\.hpp$/, ".cpp", target)
    while ((getline line < target) > 0) old = old line "\n"
    close(target)
    if (old == text) return
    folder = target
    sub(/\/[^\/]*$/, "", folder)
    system("mkdir -p '" folder "'")
    printf "%s", text > target
    close(target)
}
$1 == "header" {
    component[$3] = $2
    headers[++count] = $3
    read_includes($3)
}
END {
    for (i = 1; i <= count; i++) {
        close_over(headers[i], headers[i])
        for (j = i; j > 1 && size[sorted[j - 1]] < size[headers[i]]; j--) sorted[j] = sorted[j - 1] # the largest first: they cost most
        sorted[j] = headers[i]
    }
    for (i = 1; i <= count; i++) {
        h = sorted[i]
        for (j = i - 1; j >= 1; j--) { # the smallest one that has all of h, and nothing before it yet
            g = sorted[j]
            if (!(g in before) && component[g] == component[h] && (g, h) in closure) {
                before[g] = h
                behind[h] = g
                break
            }
        }
    }
    for (i = 1; i <= count; i++) {
        h = sorted[i]
        if (h in behind) {
            write(h, "// in the unit of " behind[h] "\n")
            continue
        }
        text = chain = ""
        for (g = h; g != ""; g = before[g]) {
            text = "#include <" g ">\n#include <" g "> // the guard holds\n" text
            chain = g " " chain
        }
        write(h, text)
        print chain
    }
}
