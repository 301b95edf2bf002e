#include "codetta/base/error.h"

#include <string_view>
#include <utility>

namespace codetta::base {

namespace {

std::string compose(const std::string& message, const std::string& place, const std::string& remedy) {
    std::string text;
    if (!place.empty()) text += place + ": ";
    text += message;
    if (!remedy.empty()) text += "; " + remedy;
    return text;
}

} // namespace

Error::Error(std::string message, std::string place, std::string remedy)
    : std::runtime_error(compose(message, place, remedy)), message_(std::move(message)), place_(std::move(place)),
      remedy_(std::move(remedy)) {}

void throw_failed_check(const char* file, int line, const char* condition, const std::string& message) {
    // Only the path inside the project is of use to a reader, and it keeps messages equal on every machine.
    std::string_view path = file;
    if (size_t room = path.rfind("codetta/"); room != std::string_view::npos) path.remove_prefix(room);
    throw InternalError(fmt::format("{} [check failed: {}]", message, condition), fmt::format("{}:{}", path, line),
                        "this is a bug in Codetta, please report it");
}

} // namespace codetta::base
