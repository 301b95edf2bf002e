// A file that holds a stage of a compilation as text: which stage, and its parts.
#pragma once

#include <string>
#include <vector>

#include "codetta/base/error.h"
#include "codetta/graph/op_def.h"

namespace codetta::cli {

enum class Stage { graph, problems, kernels, program };

struct StageFile {
    std::string path;
    Stage stage = Stage::graph;
    std::vector<std::string> parts; ///< one text per graph, problem or kernel; blank lines before keep line numbers right
};

/// Reads and splits; nothing is parsed yet. The first word that is no comment decides: graph, problem, kernel or program.
/// @throws UserError naming the file, with what to do instead for texts that can't be fed back
StageFile read_stage_file(const std::string& path);

/// Calls parse(part) and adds the file's name to a UserError.
template <class Parse>
auto parse_part(const StageFile& file, const std::string& part, Parse parse) -> decltype(parse(part));

/// The graph of a file, verified. Nodes that name no source line get their line in the file.
/// @throws UserError naming the file, and line and column or the node
graph::Graph read_graph(const StageFile& file, const graph::OpSet& ops);

} // namespace codetta::cli

template <class Parse>
auto codetta::cli::parse_part(const StageFile& file, const std::string& part, Parse parse) -> decltype(parse(part)) {
    try {
        return parse(part);
    } catch (const base::UserError& e) {
        throw base::UserError(e.what(), file.path);
    }
}
