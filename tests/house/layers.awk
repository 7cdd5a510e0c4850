# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The rooms in the order of the data's way: which may include which, and which foreign headers. Files are named augur/<room>/...

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
    allow("feature", "schedule record", "")
    allow("program", "workload", "^boost/graph/|^sys/mman\\.h$|" simd)
    allow("nn", "core", eigen "|" simd)
    allow("model/concepts", "record schedule workload", "")
    allow("model", "feature program nn model/concepts", eigen)
    allow("transfer", "record model/concepts", "")
    allow("search/concepts", "space record", "")
    allow("search", "space record model/concepts search/concepts", eigen)
    allow("language", "space record nn search/concepts", eigen)
    allow("tune", "search record", posix)
    allow("loopnest", "model transfer search language tune", posix "|" simd)
    allow("io", "schedule record model transfer search language tune loopnest", posix "|^(zlib|zstd)\\.h$")
    allow("tbb", "model search tune", "^(oneapi/)?tbb/")
    allow("llvm", "model search tune program loopnest", "^llvm/|" posix)
    allow("xgboost", "model search tune feature", "^xgboost/")
    banned = "^(iostream|random|regex|format|expected)$"
}

function complain(text) {
    printf "%s:%d: %s\n", FILENAME, FNR, text
    findings++
}

function finish_file() {
    if (file != "" && !(guard_seen && page_seen)) {
        printf "%s: no %s\n", file, guard_seen ? "/// @file comment" : "include guard " guard
        findings++
    }
}

FNR == 1 {
    finish_file()
    files++
    file = FILENAME
    split(file, part, "/")
    room = part[2]
    if (room "/" part[3] == "model/concepts.hpp" || room "/" part[3] == "search/concepts.hpp") room = room "/concepts"
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

length($0) > 150 { complain("longer than 150 columns") }
/\t/ { complain("a tab") }
/^#define / && $2 == guard { guard_seen = 1 }
/^\/\/\/ @file/ { page_seen = 1 }
/^[ \t]*#[ \t]*define[ \t]/ {
    name = $0
    sub(/^[ \t]*#[ \t]*define[ \t]+/, "", name)
    if (name !~ /^AUGUR_/) complain("a macro that is not AUGUR_*")
}

/^[ \t]*#[ \t]*include/ {
    name = $0
    sub(/^[ \t]*#[ \t]*include[ \t]*/, "", name)
    if (name ~ /^"/) { complain("quoted include, ours are <augur/room/name.hpp>"); next }
    sub(/^</, "", name)
    sub(/>.*/, "", name)
    if (name ~ /^augur\//) {
        split(name, part, "/")
        other = part[2]
        if (name == "augur/model/concepts.hpp" || name == "augur/search/concepts.hpp") other = other "/concepts"
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
code ~ /using[ \t]+namespace/ && code !~ /^ +using namespace detail;/ { complain("using namespace") }
code ~ /std::views|std::ranges::views/ { complain("std::views") }
code ~ /(^|[^(:_a-zA-Z])std::(max|min)\(/ { complain("write (std::max)(a, b): max and min are macros in some trees") }
code ~ /(^|[^_a-zA-Z])(throw|dynamic_cast|typeid)([^_a-zA-Z]|$)/ { complain("no exceptions, no RTTI") }

END {
    finish_file()
    if (files == 0) { print "no header found"; exit 1 }
    printf "%d headers, %d findings\n", files, findings
    exit findings > 0
}
