#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Builds the tests of the component llvm with other versions of LLVM than the one that every run takes, and runs them. Not part of .ci/run: they
# are another gigabyte of packages.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/../setup.sh"

usage() {
    cat <<'TEXT'
usage: tests/llvm/versions.sh [--yes] [--jobs N] [VERSION...]

  --yes     install missing packages without asking (root and CI=true do so as well)
  --jobs N  parallel jobs; default: processors, as far as memory goes
  VERSION   14, 16 or 19; default: 14 and 16. The build goes to build/llvm-VERSION
TEXT
}

versions=()
while [ $# -gt 0 ]; do
    case $1 in
    --yes) setup_yes=1 ;;
    --jobs)
        [ $# -ge 2 ] || setup_die "--jobs needs a value; try --help"
        setup_jobs=$2
        shift
        ;;
    --help | -h) usage; exit 0 ;;
    14 | 16 | 19) versions+=("$1") ;;
    *) setup_die "unknown argument '$1'; try --help" ;;
    esac
    shift
done
[ ${#versions[@]} -gt 0 ] || versions=(14 16)
setup_jobs=${setup_jobs:-$(setup_default_jobs)}
case $setup_jobs in '' | 0 | *[!0-9]*) setup_die "--jobs: expected a positive number, got '$setup_jobs'" ;; esac

setup_packages base test "${versions[@]/#/llvm-}" || exit 1
failed=()
for version in "${versions[@]}"; do
    config=$(command -v "llvm-config-$version") || setup_die "no llvm-config-$version: this system has no package of LLVM $version"
    printf '\n=== LLVM %s\n' "$("$config" --version)"
    (setup_build "llvm-$version" dev -DAUGUR_LLVM_CONFIG="$config" -DAUGUR_BUILD_EXAMPLES=OFF -DAUGUR_TEST_FILTER=/tests/llvm/) &&
        ctest --test-dir "$setup_root/build/llvm-$version" --output-on-failure --no-tests=error -j "$setup_jobs" || failed+=("$version")
done
[ ${#failed[@]} -eq 0 ] || setup_die "failed with LLVM ${failed[*]}"
