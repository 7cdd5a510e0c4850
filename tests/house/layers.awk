# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Which room may include which, and which foreign headers. Files are named augur/<room>/...; a folder of a room that needs another library, and the concepts
# of search, are entries of their own. What lies in a detail/ folder is included by its own room alone.

function allow(room, rooms, foreign,    i, n, part, below) {
    # what a room may include, its rooms may give it: the table is closed as it is written, bottom first
    known[room] = 1
    may[room, room] = 1
    n = split(rooms, part, " ")
    for (i = 1; i <= n; i++) {
        may[room, part[i]] = 1
        for (below in known) if (may[part[i], below]) may[room, below] = 1
    }
    foreign_of[room] = foreign
}

# The first folder of a path.
function part_of(path,    part) {
    split(path, part, "/")
    sub(/\.hpp$/, "", part[2])
    return part[2]
}

# The entry of a path: the longest prefix in the table.
function room_of(path,    part, deep, base) {
    split(path, part, "/")
    if (part[3] == "") { sub(/\.hpp$/, "", part[2]); return part[2] } # an umbrella header
    base = part[3]
    sub(/\.hpp$/, "", base)
    deep = part[2] "/" base
    return deep in known ? deep : part[2]
}

BEGIN {
    posix = "^(dirent|dlfcn|errno|fcntl|poll|pthread|sched|signal|spawn|time|unistd|sys/[a-z_]+|linux/[a-z_]+)\\.h$"
    eigen = "^Eigen/(Core|Cholesky|LU|QR)$"
    simd = "^(immintrin|arm_neon|cpuid|sys/auxv|asm/hwcap)\\.h$"
    allow("core", "", "")
    allow("target", "core", posix "|" simd)
    allow("workload", "target core", "")
    allow("schedule", "workload", "")
    allow("space", "schedule", "")
    allow("record", "schedule", posix)
    allow("dataset", "record", posix)
    allow("nn", "core", eigen "|" simd)
    allow("program", "workload", "^boost/graph/|^sys/mman\\.h$|" simd)
    allow("model", "schedule record workload", "")
    allow("tlp", "dataset nn model", eigen)
    allow("crop", "program model", "")
    allow("metatune", "dataset nn model", eigen)
    allow("search/concepts", "space record", "")
    allow("search", "space record model search/concepts", "")
    allow("search/bayes", "search", eigen)
    allow("transfer", "space dataset model search/concepts", "")
    allow("tlm", "space dataset nn search/concepts", eigen)
    allow("tune", "search record", posix)
    allow("loopnest", "workload schedule space record model search tune", posix "|" simd)
    allow("loopnest/crop", "loopnest program", "")
    allow("io", "dataset space", posix "|^(zlib|zstd)\\.h$")
    allow("io/loopnest", "loopnest", "")
    allow("tbb", "core", "^(oneapi/)?tbb/")
    allow("llvm", "model search tune program loopnest", "^llvm/|" posix)
    allow("xgboost", "model search tune dataset", "^xgboost/")
    allow("session", "tlp tlm metatune crop transfer search search/bayes tune io io/loopnest loopnest loopnest/crop tbb xgboost", posix)
    banned = "^(iostream|random|regex|format|expected)$"
}

function complain(text) {
    printf "%s:%d: %s\n", FILENAME, FNR, text
    findings++
}

function finish_file(    name) {
    for (name in leaks) {
        printf "%s:%d: the macro %s leaks, #undef it\n", file, leaks[name], name
        findings++
        delete leaks[name]
    }
    if (file != "" && !(guard_seen && page_seen)) {
        printf "%s: no %s\n", file, guard_seen ? "/// @file comment" : "include guard " guard
        findings++
    }
}

FNR == 1 {
    finish_file()
    files++
    file = FILENAME
    room = room_of(file)
    if (!(room in known)) complain("'" room "' is not a room")
    guard = toupper(file)
    gsub(/[^A-Z0-9]/, "_", guard)
    guard_seen = page_seen = 0
    raw_end = ""
    if ($0 != "// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception") complain("the first line is not the licence")
}

# the text of a raw string is data, a C program perhaps: only its first line is code
raw_end != "" {
    if (index($0, raw_end)) raw_end = ""
    next
}
match($0, /R"[^ ()\\]*\(/) {
    raw_end = ")" substr($0, RSTART + 2, RLENGTH - 3) "\""
    if (index(substr($0, RSTART + RLENGTH), raw_end)) raw_end = ""
}

/^#define / && $2 == guard { guard_seen = 1 }
/^\/\/\/ @file/ { page_seen = 1 }
/^[ \t]*#[ \t]*define[ \t]/ {
    name = $0
    sub(/^[ \t]*#[ \t]*define[ \t]+/, "", name)
    if (name !~ /^AUGUR_/) complain("a macro that is not AUGUR_*")
    sub(/[ \t(].*/, "", name)
    if (name != guard && file !~ /^augur\/(core\/config|nn\/kernels\/simd_kernel)\.hpp$/) leaks[name] = FNR # these two are there for their macros
}

/^[ \t]*#[ \t]*undef[ \t]/ {
    name = $0
    sub(/^[ \t]*#[ \t]*undef[ \t]+/, "", name)
    delete leaks[name]
}

/^[ \t]*#[ \t]*include/ {
    name = $0
    sub(/^[ \t]*#[ \t]*include[ \t]*/, "", name)
    if (name ~ /^"/) { complain("quoted include, ours are <augur/room/name.hpp>"); next }
    sub(/^</, "", name)
    sub(/>.*/, "", name)
    if (name ~ /^augur\//) {
        other = room_of(name)
        if (name ~ /\/detail\// && part_of(name) != part_of(file))
            complain("only " part_of(name) " may include its detail")
        if (!may[room, other]) complain(room " must not include " other)
    } else if (name ~ banned) complain("<" name "> is not for public headers")
    else if (name !~ /^[a-z_0-9]+$/ && (foreign_of[room] == "" || name !~ foreign_of[room])) complain(room " must not include <" name ">")
    next
}

{
    code = $0
    gsub(/"([^"\\]|\\.)*"/, "\"\"", code)
    sub(/\/\/.*/, "", code)
}
code ~ /using[ \t]+namespace/ { complain("using namespace") }
code ~ /std::views|std::ranges::views/ { complain("std::views") }
code ~ /(^|[^(:_a-zA-Z])std::(max|min)\(/ { complain("write (std::max)(a, b): max and min are macros in some trees") }
code ~ /(^|[^_a-zA-Z])(throw|dynamic_cast|typeid)([^_a-zA-Z]|$)/ { complain("no exceptions, no RTTI") }

END {
    finish_file()
    if (files == 0) { print "no header found"; exit 1 }
    printf "%d headers, %d findings\n", files, findings
    exit findings > 0
}
