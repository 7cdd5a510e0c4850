// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program with a session and none of the components that its models need: each of them is refused by name, before anything is measured.
#include <cstdio>
#include <string>

#include <augur/session.hpp>

int main() {
    struct row {
        const char *model, *component;
    };
    int wrong = 0;
    for (const row r : {row{"tlp", "augur::tlp"}, row{"weights.safetensors", "augur::tlp"}, row{"crop", "augur::crop"},
                        row{"trees", "augur::xgboost"}, row{"hybrid", "augur::crop"}, row{"nest", "augur::xgboost"}}) {
        augur::session_options options;
        options.work.add(*augur::kernel::parse("dense:m=16,n=32,k=16"));
        options.search.model = r.model;
        const auto session = augur::session::create(options);
        const bool refused = !session && session.error().code == augur::errc::unsupported &&
                             session.error().detail.find("'" + std::string(r.model) + "'") != std::string::npos &&
                             session.error().detail.find(r.component) != std::string::npos;
        if (refused) continue;
        ++wrong;
        std::printf("%s: %s\n", r.model, session ? "accepted" : session.error().detail.c_str());
    }
    return wrong;
}
