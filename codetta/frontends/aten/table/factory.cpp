// Tensors out of nothing: constants, ranges, and contents that nobody reads.
#include "codetta/base/error.h"
#include "codetta/frontends/aten/translator.h"

namespace codetta::frontends::aten {

namespace {

// What the capture says of the result decides shape and dtype, so all spellings of a factory are one.
void filled(Translator& t, const graph::Attribute& value) {
    const ImportedValue& out = t.promised();
    t.result(t.add("full", {}, {{"shape", out.shape}, {"value", value}, {"dtype", out.dtype}}));
}

void zeros(Translator& t, std::string_view) { filled(t, int64_t(0)); } // also for empty: its contents are anybody's
void ones(Translator& t, std::string_view) { filled(t, int64_t(1)); }

void full(Translator& t, std::string_view argument) {
    if (t.is_tensor(argument)) {
        const ValueId value = t.cast(t.tensor(argument), t.promised().dtype);
        return t.result(t.add("expand", {value}, {{"shape", t.promised().shape}}));
    }
    filled(t, t.number(argument));
}

void arange(Translator& t, std::string_view) {
    const ImportedValue& out = t.promised();
    graph::Attributes attributes = {{"length", out.shape.at(0)}, {"dtype", out.dtype}};
    if (t.has("start")) attributes["start"] = t.number("start");
    if (t.has("step")) attributes["step"] = t.number("step");
    t.result(t.add("arange", {}, std::move(attributes)));
}

constexpr Row rows[] = {
    {"aten.zeros.default", "", zeros},
    {"aten.zeros_like.default", "", zeros},
    {"aten.new_zeros.default", "", zeros},
    {"aten.empty.memory_format", "", zeros},
    {"aten.empty_like.default", "", zeros},
    {"aten.empty_permuted.default", "", zeros},
    {"aten.empty_strided.default", "", zeros},
    {"aten.new_empty.default", "", zeros},
    {"aten.new_empty_strided.default", "", zeros},
    {"aten.ones.default", "", ones},
    {"aten.ones_like.default", "", ones},
    {"aten.new_ones.default", "", ones},
    {"aten.full.default", "fill_value", full},
    {"aten.full_like.default", "fill_value", full},
    {"aten.new_full.default", "fill_value", full},
    {"aten.scalar_tensor.default", "s", full},
    {"aten.fill.Scalar", "value", full},
    {"aten.fill.Tensor", "value", full},
    {"aten.arange.default", "", arange},
    {"aten.arange.start", "", arange},
    {"aten.arange.start_step", "", arange},
    {"prims.iota.default", "", arange},
};

} // namespace

std::span<const Row> factory_rows() { return rows; }

} // namespace codetta::frontends::aten
