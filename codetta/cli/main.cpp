#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "codetta/cli/cli.h"

int main(int count, char** words) {
    const auto to = [](std::FILE* file) { return [file](std::string_view text) { std::fwrite(text.data(), 1, text.size(), file); }; };
    codetta::cli::Console console{to(stdout), to(stderr)};
    const char* no_color = std::getenv("NO_COLOR");
    console.color = (no_color == nullptr || *no_color == '\0') && isatty(STDERR_FILENO) != 0;
    return codetta::cli::run({words + 1, words + count}, console);
}
