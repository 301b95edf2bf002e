#include "codetta/cli/stage_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "codetta/base/atomic_file.h"

namespace codetta::cli {

namespace {

bool starts_word(std::string_view line, std::string_view word) {
    return line.starts_with(word) && (line.size() == word.size() || line[word.size()] == ' ' || line[word.size()] == '(');
}

/// Texts of several problems or kernels: each begins at the left margin with its word; `  values:` lines (where a region's operands come
/// from) belong to no text.
std::vector<std::string> split(const std::string& text, std::string_view word) {
    std::vector<std::string> parts;
    std::string blank_lines;
    for (size_t at = 0; at < text.size();) {
        const size_t end = std::min(text.find('\n', at), text.size());
        const std::string_view line = std::string_view(text).substr(at, end - at);
        if (starts_word(line, word)) parts.push_back(blank_lines);
        const bool belongs = !parts.empty() && !line.starts_with("  values:");
        if (belongs) parts.back() += line;
        if (!parts.empty()) parts.back() += '\n';
        blank_lines += '\n';
        at = end + 1;
    }
    return parts;
}

} // namespace

StageFile read_stage_file(const std::string& path) {
    StageFile file{path, Stage::graph, {}};
    const std::string text = base::read_file(path);
    size_t at = 0;
    while (at < text.size()) { // the first line that says something
        const size_t end = std::min(text.find('\n', at), text.size());
        const size_t first = text.find_first_not_of(" \t\r", at);
        if (first < end && text[first] != '#') break;
        at = end + 1;
    }
    const std::string_view rest = std::string_view(text).substr(std::min(at, text.size()));
    if (starts_word(rest, "graph"))
        file.parts = {text};
    else if (starts_word(rest, "program"))
        file.stage = Stage::program, file.parts = {text};
    else if (starts_word(rest, "problem"))
        file.stage = Stage::problems, file.parts = split(text, "problem");
    else if (starts_word(rest, "kernel"))
        file.stage = Stage::kernels, file.parts = split(text, "kernel");
    else if (starts_word(rest, "recipe"))
        throw base::UserError("recipes are the compiler's choice for this machine and can't be fed back", path,
                              "feed back the regions (..._fuse.txt) or the kernels (..._build.txt)");
    else
        throw base::UserError("line 1, column 1: a text starts with 'graph', 'problem', 'kernel' or 'program'", path);
    return file;
}

graph::Graph read_graph(const StageFile& file, const graph::OpSet& ops) {
    const std::string& text = file.parts[0];
    graph::Graph g = parse_part(file, text, [](const std::string& t) { return graph::parse_graph(t); });
    const std::string name = std::filesystem::path(file.path).filename().string();
    for (graph::Node& n : g.nodes) {
        if (!n.location.empty() || n.outputs.empty()) continue;
        const size_t at = text.find("%" + g.value(n.outputs[0]).name + ":");
        if (at != std::string::npos)
            n.location = fmt::format("{}:{}", name, std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n') + 1);
    }
    try {
        graph::verify(g, ops);
    } catch (const base::InternalError& e) { // a text is the user's
        throw base::UserError(e.what(), file.path);
    } catch (const base::UserError& e) {
        throw base::UserError(e.what(), file.path);
    }
    return g;
}

} // namespace codetta::cli
