// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Goes with the code of precompiled.hpp. All inline functions of all headers are in that code, also those that nobody calls; libstdc++ 12 has two such constructors of
// std::filesystem::path, which call a function that its shared library keeps to itself.
extern "C" [[noreturn]] void _ZNSt10filesystem7__cxx114path5_List4typeENS1_5_TypeE() { __builtin_trap(); }
