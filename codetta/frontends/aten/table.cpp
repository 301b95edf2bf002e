#include <algorithm>
#include <map>

#include "codetta/base/error.h"
#include "codetta/frontends/aten/translator.h"

namespace codetta::frontends::aten {

namespace {

using Table = std::map<std::string_view, const Row*>;

Table make_table() {
    Table table;
    for (const std::span<const Row> part : {pointwise_rows(), view_rows(), factory_rows(), reduce_rows(), contract_rows(), normalise_rows(),
                                            index_rows(), backward_rows(), convolution_rows()})
        for (const Row& row : part) {
            const bool is_new = table.emplace(row.target, &row).second;
            CODETTA_CHECK(is_new, "two rows for {}", row.target);
        }
    return table;
}

const Table& table() {
    static const Table made = make_table(); // constant after its first use
    return made;
}

} // namespace

const Row* find_row(std::string_view target) {
    const auto found = table().find(target);
    return found == table().end() ? nullptr : found->second;
}

std::vector<std::string_view> known_targets() {
    std::vector<std::string_view> names;
    for (const auto& [name, row] : table()) names.push_back(name);
    return names;
}

} // namespace codetta::frontends::aten
