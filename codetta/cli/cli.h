// The program `codetta`: looks at every stage of a compilation, runs any dumped stage, says what this machine can do.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace codetta::cli {

/// The version that `codetta --version` tells; a test holds it against CMakeLists.txt.
inline constexpr std::string_view version = "0.1.0";

/// Where a command writes: results on out, all else on err.
struct Console {
    std::function<void(std::string_view)> out, err;
    bool color = false;
};

/// Exit codes. `wrong`: the input is malformed, or results differ. `misused`: the command line is.
enum : int { fine = 0, wrong = 1, misused = 2 };

/// Runs one command line, without the program's name. Throws nothing.
int run(const std::vector<std::string>& arguments, const Console& console);

} // namespace codetta::cli
