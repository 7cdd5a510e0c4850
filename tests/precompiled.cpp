// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Linked with the code of precompiled.hpp, which has all inline functions of its headers, also those that nobody calls. Among them are two private constructors
// of libstdc++ 12's std::filesystem::path, which call this function; its shared library does not export it.
extern "C" [[noreturn]] void _ZNSt10filesystem7__cxx114path5_List4typeENS1_5_TypeE() { __builtin_trap(); }
