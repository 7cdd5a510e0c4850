// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "task_dags.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <utility>
#include <vector>

#include <augur/core/json.hpp>
#include <augur/io/byte_source.hpp>
#include <augur/io/loopnest/tvm_dag.hpp>

namespace examples {

augur::result<dag_map> read_dags(const std::string& path, const std::function<bool(std::string_view)>& wanted) {
    auto source = augur::byte_source::open(path);
    if (!source) return source.error();
    std::string text;
    for (std::vector<char> block(std::size_t{1} << 18U);;) {
        const auto got = source->read(block.data(), block.size());
        if (!got) return got.error();
        if (*got == 0) break;
        text.append(block.data(), *got);
    }
    dag_map out;
    std::size_t line = 0;
    for (std::size_t at = 0; at < text.size();) {
        const auto end = (std::min)(text.find('\n', at), text.size());
        augur::json_reader in(std::string_view(text).substr(at, end - at), {}, ++line);
        at = end + 1;
        std::string_view member;
        std::string key, dag;
        in.begin_object();
        while (in.next_member(member)) {
            if (member == "key") in.read(key);
            else if (member == "dag") in.read(dag);
            else in.skip();
        }
        if (!in.finish()) return augur::error{in.error().code, path + ":" + in.error().detail};
        if (!wanted(key)) continue;
        if (auto parsed = augur::parse_tvm_dag(dag, key))
            out.insert_or_assign(key, std::make_shared<const augur::loopnest::compute_dag>(std::move(parsed->dag)));
        else std::fprintf(stderr, "%s:%zu: %s\n", path.c_str(), line, parsed.error().detail.c_str());
    }
    return out;
}

} // namespace examples
