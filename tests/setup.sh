# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Sourced by tests/run, tests/llvm/versions.sh, examples/quickstart and .ci/run: finds or installs what is needed, configures and builds.
#
#   setup_packages GROUP...            base: to build programs; test: to run the tests; bench: to build the benchmarks; llvm-N: LLVM N
#   setup_build NAME CACHE [-DX=Y...] [-- TARGET...]   configures build/NAME from tests/cache/CACHE.cmake and builds
#
# It reads setup_yes (1: install without asking) and setup_jobs.

setup_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
setup_yes=${setup_yes:-0}

setup_die() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

# Processors, but no more than one for each 1.5 GiB of memory: a test unit on Eigen takes that much.
setup_default_jobs() {
    local jobs kib
    jobs=$(nproc 2>/dev/null || sysctl -n hw.ncpu 2>/dev/null || echo 2)
    kib=$(awk '/^MemAvailable/ { print $2 }' /proc/meminfo 2>/dev/null)
    if [ -n "$kib" ] && [ $((kib / 1572864)) -lt "$jobs" ]; then jobs=$((kib / 1572864)); fi
    [ "$jobs" -ge 1 ] || jobs=1
    echo "$jobs"
}

# group | command that stands for the package, or - | Debian | Fedora | Homebrew; a '?' before a name: do without it, aloud, where it does not exist
setup_table='
base | cmake          | cmake            | cmake                  | cmake
base | ninja          | ninja-build      | ninja-build            | ninja
base | c++            | g++              | gcc-c++                | -
base | -              | libeigen3-dev    | eigen3-devel           | eigen
base | -              | libtbb-dev       | tbb-devel              | tbb
base | -              | libboost-dev     | boost-devel            | boost
base | -              | zlib1g-dev       | zlib-devel             | zlib
base | -              | libzstd-dev      | libzstd-devel          | zstd
base | -              | ?libxgboost-dev  | -                      | -
test | llvm-config-19 | ?llvm-19-dev     | -                      | -
test | -              | doctest-dev      | doctest-devel          | doctest
test | -              | nlohmann-json3-dev | json-devel           | nlohmann-json
test | -              | libsimdjson-dev  | simdjson-devel         | simdjson
test | zstd           | zstd             | zstd                   | zstd
test | clang++-19     | ?clang-19        | -                      | -
test | -              | ?libclang-rt-19-dev | -                   | -
test | -              | ?libc++-19-dev   | -                      | -
test | -              | ?libc++abi-19-dev | -                     | -
test | aarch64-linux-gnu-gcc | ?gcc-aarch64-linux-gnu | - | -
test | -              | ?libc6-dev-arm64-cross | -             | -
test | qemu-aarch64   | ?qemu-user       | -                      | -
bench | -             | libbenchmark-dev | google-benchmark-devel | google-benchmark
bench | -             | libopenblas-dev  | openblas-devel         | openblas
llvm-14 | llvm-config-14 | llvm-14-dev   | -                      | -
llvm-16 | llvm-config-16 | llvm-16-dev   | -                      | -
llvm-19 | llvm-config-19 | llvm-19-dev   | -                      | -
'

# setup_names COLUMN GROUP...: the packages of the groups; with their command, when it has one, as name:command
setup_names() {
    local column=$1 group command debian fedora brew name
    shift
    while IFS='|' read -r group command debian fedora brew; do
        read -r group command debian fedora brew <<<"$group $command $debian $fedora $brew"
        [ -n "$group" ] || continue
        case " $* " in *" $group "*) ;; *) continue ;; esac
        case $column in debian) name=$debian ;; fedora) name=$fedora ;; brew) name=$brew ;; esac
        [ "$name" = - ] || echo "$name:$command"
    done <<<"$setup_table"
}

setup_is_installed() { # system, package, command or -
    if [ "$3" != - ] && command -v "$3" >/dev/null 2>&1; then return 0; fi
    case $1 in
    debian) [ "$(dpkg-query -W -f='${db:Status-Status}' "$2" 2>/dev/null)" = installed ] ;;
    fedora) rpm -q "$2" >/dev/null 2>&1 ;;
    brew) brew list --versions "$2" >/dev/null 2>&1 ;;
    esac
}

setup_packages() {
    local system entry name optional missing=() wanted=() command sudo='' answer log
    if command -v apt-get >/dev/null && command -v dpkg-query >/dev/null; then system=debian
    elif command -v dnf >/dev/null && command -v rpm >/dev/null; then system=fedora
    elif command -v brew >/dev/null; then system=brew
    else
        for command in cmake ninja c++; do
            command -v "$command" >/dev/null && continue
            echo "augur needs a C++20 compiler, CMake 3.23, Ninja, Eigen 3.4, oneTBB 2021, Boost 1.74 and, for its tests, doctest 2.4." >&2
            echo "  Debian: sudo apt-get install $(setup_names debian "$@" | sed 's/:.*//; s/?//' | tr '\n' ' ')" >&2
            echo "  Fedora: sudo dnf install $(setup_names fedora "$@" | sed 's/:.*//; s/?//' | tr '\n' ' ')" >&2
            echo "  macOS:  xcode-select --install; brew install $(setup_names brew "$@" | sed 's/:.*//; s/?//' | tr '\n' ' ')" >&2
            setup_die "'$command' is missing, and no package manager that this script knows is there"
        done
        return 0
    fi

    for entry in $(setup_names $system "$@"); do
        name=${entry%%:*}
        setup_is_installed $system "${name#\?}" "${entry#*:}" || missing+=("$name")
    done
    if [ $system = brew ] && ! xcode-select -p >/dev/null 2>&1; then setup_die "no compiler: run 'xcode-select --install' first"; fi
    [ ${#missing[@]} -gt 0 ] || return 0

    # What an older distribution does not have is left out when it may be; the package lists are only asked when something is missing.
    if [ "$(id -u)" != 0 ]; then sudo='sudo '; fi
    case $system in
    debian) command="${sudo}apt-get update && ${sudo}apt-get install -y --no-install-recommends ${missing[*]#\?}" ;;
    fedora) command="${sudo}dnf install -y ${missing[*]#\?}" ;;
    brew) command="brew install ${missing[*]#\?}" ;;
    esac
    if [ "$(id -u)" != 0 ] && [ "${CI:-}" != true ] && [ "$setup_yes" != 1 ]; then
        printf 'Not installed yet: %s\nThis installs it:\n\n  %s\n\n' "${missing[*]#\?}" "$command" >&2
        [ -t 0 ] || setup_die "run the command above, or call this script with --yes or CI=true"
        read -r -p 'Run it now? [y/N] ' answer
        case $answer in y | Y | yes) ;; *) setup_die "nothing was installed" ;; esac
    fi
    if [ -n "$sudo" ] && [ $system != brew ] && ! command -v sudo >/dev/null; then setup_die "not root, and no sudo: run as root: ${command//sudo /}"; fi
    echo "installing ${missing[*]#\?}"
    log=$(mktemp)
    case $system in
    debian)
        ${sudo}apt-get update >"$log" 2>&1 || { cat "$log" >&2; setup_die "apt-get update failed"; }
        for name in "${missing[@]}"; do
            optional=${name#\?}
            if [ "$optional" != "$name" ] && ! apt-cache show "$optional" >/dev/null 2>&1; then
                echo "this distribution has no $optional: the checks that need it will be skipped"
            else
                wanted+=("$optional")
            fi
        done
        [ ${#wanted[@]} -eq 0 ] ||
            ${sudo}env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${wanted[@]}" >"$log" 2>&1 ||
            { tail -n 30 "$log" >&2; setup_die "apt-get install failed: ${wanted[*]}"; }
        ;;
    fedora) ${sudo}dnf install -y "${missing[@]#\?}" >"$log" 2>&1 || { tail -n 30 "$log" >&2; setup_die "dnf install failed"; } ;;
    brew) brew install "${missing[@]#\?}" >"$log" 2>&1 || { tail -n 30 "$log" >&2; setup_die "brew install failed"; } ;;
    esac
    rm -f "$log"
}

setup_build() {
    local name=$1 cache=$2 directory log options=() targets=()
    shift 2
    while [ $# -gt 0 ] && [ "$1" != -- ]; do options+=("$1"); shift; done
    if [ $# -gt 0 ]; then shift; targets=(--target "$@"); fi
    [ -f "$setup_root/tests/cache/$cache.cmake" ] || setup_die "no cache '$cache', there are: $(cd "$setup_root/tests/cache" && echo *.cmake | sed 's/\.cmake//g')"
    directory=$setup_root/build/$name
    mkdir -p "$directory"
    log=$directory/configure.log
    cmake -G Ninja -C "$setup_root/tests/cache/$cache.cmake" -S "$setup_root" -B "$directory" ${options[@]+"${options[@]}"} >"$log" 2>&1 ||
        { cat "$log" >&2; setup_die "could not configure build/$name"; }
    cmake --build "$directory" -j "${setup_jobs:-$(setup_default_jobs)}" ${targets[@]+"${targets[@]}"} || setup_die "could not build build/$name"
}
