// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_TESTS_EXAMPLES_PAGE_LAYOUT_HPP
#define AUGUR_TESTS_EXAMPLES_PAGE_LAYOUT_HPP

// How a page lies on the screen, by a browser that shows it on none.

#include <cstdlib>
#include <fstream>
#include <string>

#include <doctest/doctest.h>

#include "child_program.hpp"
#include "scratch.hpp"

/// Chromium, or an empty text.
inline std::string browser() {
    for (const char* name : {"chromium", "chromium-browser", "google-chrome"})
        if (std::system(("command -v " + std::string(name) + " > /dev/null 2>&1").c_str()) == 0) return name;
    return {};
}

/// Checks at several widths that no two texts of the page lie upon one another, and that each label of the facts stands beside its value.
/// False where there is no Chromium.
inline bool check_layout(const scratch& folder, const std::string& page) {
    const auto chromium = browser();
    if (chromium.empty()) return false;
    constexpr const char* script = R"(<script>
const boxes = [], wrong = [];
const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walk.nextNode()) {
    const node = walk.currentNode, text = node.data.trim();
    if (!text || node.parentElement.closest('title, script')) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const lines = node.parentElement.closest('svg') ? [node.parentElement.getBoundingClientRect()] : range.getClientRects();
    for (const r of lines) if (r.width > 0 && r.height > 0) boxes.push({node, text, r});
}
for (let i = 0; i < boxes.length; ++i)
    for (let j = 0; j < i; ++j) {
        const a = boxes[i], b = boxes[j];
        if (a.node === b.node) continue;
        const wide = Math.min(a.r.right, b.r.right) - Math.max(a.r.left, b.r.left);
        const high = Math.min(a.r.bottom, b.r.bottom) - Math.max(a.r.top, b.r.top);
        if (wide > 1 && high > 1) wrong.push("'" + a.text + "' lies upon '" + b.text + "'");
    }
const names = document.querySelectorAll('dt'), values = document.querySelectorAll('dd');
for (let i = 0; i < names.length; ++i)
    if (Math.abs(names[i].getBoundingClientRect().top - values[i].getBoundingClientRect().top) > 3)
        wrong.push("'" + names[i].textContent + "' is not beside '" + values[i].textContent + "'");
const said = document.createElement('pre');
const counts = 'texts ' + boxes.length + ' facts ' + names.length + ' wrong ' + wrong.length;
said.textContent = [counts, ...wrong.slice(0, 8), 'end of layout'].join('\n');
document.body.replaceChildren(said);
</script>
)";
    auto shown = page;
    const auto at = shown.rfind("</body>");
    REQUIRE(at != std::string::npos);
    shown.insert(at, script);
    std::ofstream(folder / "layout.html") << shown;
    for (const std::string width : {"700", "1000", "1280", "1920"}) {
        const auto command = "timeout 120 " + chromium + " --headless --no-sandbox --disable-gpu --user-data-dir='" + (folder / "profile") +
                             "' --window-size=" + width + ",2000 --dump-dom 'file://" + (folder / "layout.html") + "' > '" + (folder / "dom") +
                             "' 2> '" + (folder / "dom.err") + "'";
        const int code = std::system(command.c_str());
        const auto dom = contents(folder / "dom");
        CAPTURE(width);
        REQUIRE_MESSAGE(code == 0, contents(folder / "dom.err"));
        const auto from = dom.find("<pre>texts "), to = dom.find("end of layout");
        REQUIRE((from != std::string::npos && to != std::string::npos));
        const auto said = dom.substr(from + 5, to - from - 5);
        CAPTURE(said);
        CHECK_FALSE(contains(said, "texts 0 "));
        CHECK_FALSE(contains(said, "facts 0 "));
        CHECK(contains(said, " wrong 0\n"));
    }
    return true;
}

#endif
