# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Reads component_deps.txt (lines: "header COMPONENT PATH", "needs COMPONENT COMPONENT..."), then the output of `ninja -t deps`.

function allow(component, other,    i) {
    if ((component, other) in may) return
    may[component, other] = 1
    for (i = 1; i <= needs_count[other]; i++) allow(component, needs[other, i])
}
# The library that a file of the system belongs to; "" for the standard library, the C library and the compiler's own headers.
function library(path) {
    if (path ~ /\/boost\//) return "boost"
    if (path ~ /\/eigen3\//) return "eigen"
    if (path ~ /\/tbb\/tbb\.h$/) return "" # libstdc++ asks whether it is there, and clang counts that
    if (path ~ /\/(tbb|oneapi)\//) return "tbb"
    if (path ~ /\/xgboost\//) return "xgboost"
    if (path ~ /\/lib\/clang\//) return "" # the compiler's own
    if (path ~ /\/llvm(-[0-9]+)?\/|\/llvm-c\//) return "llvm"
    if (path ~ /\/(zlib|zconf)\.h$/) return "zlib"
    if (path ~ /\/(zstd|zstd_errors)\.h$/) return "zstd"
    if (path ~ /\/(doctest|simdjson|nlohmann|benchmark)/) return "test"
    return ""
}
BEGIN {
    libraries["search_bayes"] = libraries["nn"] = libraries["tlp"] = libraries["tlm"] = libraries["metatune"] = "eigen"
    libraries["program"] = libraries["crop"] = libraries["loopnest_crop"] = "boost"
    libraries["io"] = "zlib zstd"
    libraries["tbb"] = "tbb"
    libraries["xgboost"] = "xgboost"
    libraries["session"] = "eigen boost xgboost" # of the models that are there
    libraries["llvm"] = "llvm boost zlib" # LLVM's own headers include zlib where it was built with it
}
NR == FNR && $1 == "header" { owner[$3] = $2; next }
NR == FNR && $1 == "needs" {
    for (i = 3; i <= NF; i++) needs[$2, i - 2] = $i
    needs_count[$2] = NF - 2
    components[$2] = 1
    next
}
FNR == 1 { for (c in components) { allow(c, c); allow(c, "core") } }
/^[^ ].*house_alone_[a-z_]+\.dir\// {
    component = $1
    sub(/.*house_alone_/, "", component)
    sub(/\.dir\/.*/, "", component)
    units++
    next
}
/^[^ ]/ { component = ""; next }
component != "" && NF == 1 {
    path = $1
    if (match(path, /include\/augur\//)) {
        path = substr(path, RSTART + 8)
        if (path in owner && !((component, owner[path]) in may)) { print component " includes " path " of component " owner[path]; findings++ }
    } else if ((l = library(path)) != "" && index(" " libraries[component] " ", " " l " ") == 0 && !((component, l) in told)) {
        told[component, l] = 1
        print component " includes " path " of " l
        findings++
    }
}
END {
    printf "%d units, %d findings\n", units, findings
    exit units == 0 || findings > 0
}
