#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# fuzz.sh FOLDER [RUNS] [ansor_log|tuner_log|tuning_archive|tvm_dag|vocabulary|sentence]: builds this .fuzz.cpp of tests/io or tests/tlm (ansor_log by default)
# with clang 19 and its sanitizers in FOLDER, keeps the corpus there and runs RUNS inputs, 10^6 by default.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
folder=${1:?a folder to work in}
target=${3:-ansor_log}
source=$here/$target.fuzz.cpp
[ -e "$source" ] || source=$here/../tlm/$target.fuzz.cpp
eigen=$(pkg-config --cflags eigen3 2> /dev/null || echo -I/usr/include/eigen3)
mkdir -p "$folder/corpus"
clang++-19 -std=c++20 -O2 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -DAUGUR_HAS_ZLIB -DAUGUR_HAS_ZSTD \
    -I"$here/../../include" $eigen -DAUGUR_TEST_DIR="\"$here/..\"" "$source" -lz -lzstd -o "$folder/${target}_fuzz"
exec "$folder/${target}_fuzz" -runs="${2:-1000000}" -max_len=1500 -artifact_prefix="$folder/" -print_final_stats=1 "$folder/corpus"
