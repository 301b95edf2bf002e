#include "codetta/frontends/aten/import.h"

#include "codetta/base/error.h"
#include "codetta/frontends/aten/translator.h"
#include "codetta/ops/list.h"

#include <algorithm>
#include <set>

namespace codetta::frontends::aten {

namespace {

constexpr std::string_view copy_target = "aten.copy_.default";

graph::TensorType type_of(const ImportedValue& v) { return {v.dtype, v.shape, v.strides}; }

/// Writes the whole of `value` into the memory of input `target`.
struct InPlace {
    uint32_t target = 0, result = 0; // of ImportedGraph::values
    ValueId value;
    std::string location;
};

class SegmentImport {
public:
    SegmentImport(const ImportedGraph& imported, const graph::OpSet& ops, const Selection& selection)
        : imported_(imported), selection_(selection), builder_(ops, start(imported, selection)) {}

    graph::Graph run() {
        add_inputs();
        for (uint32_t n : selection_.nodes) add_node(imported_.nodes.at(n));
        for (const InPlace& write : writes_) find_written(write.target);
        add_outputs();
        for (const InPlace& write : writes_) add_write(write);
        graph::Graph made = builder_.finish();
        graph::verify(made, builder_.ops());
        return made;
    }

private:
    static graph::Graph start(const ImportedGraph& imported, const Selection& selection) {
        graph::Graph g;
        g.name = imported.name;
        g.facts = imported.facts;
        g.size_arguments = selection.size_arguments;
        return g;
    }

    const ImportedValue& value(uint32_t v) const { return imported_.values.at(v); }

    void add_inputs() {
        for (const SelectedInput& input : selection_.inputs) {
            const ValueId v = builder_.input(value(input.value).name, type_of(value(input.value)),
                                             input.parameter ? graph::InputKind::parameter : graph::InputKind::argument, input.frozen);
            values_[input.value] = v;
            inputs_.insert(input.value);
        }
    }

    void add_node(const ImportedNode& node) {
        for (uint32_t v : tensors_read(node)) {
            if (!values_.contains(v) && value(v).data) values_[v] = builder_.constant(*value(v).data);
            if (!value(v).refusal.empty()) throw base::UserError(value(v).refusal, place(node));
        }
        try {
            Translator t(imported_, node, builder_, values_);
            if (node.target == copy_target) {
                add_copy(t);
            } else {
                const Row* row = find_row(node.target);
                if (!row) throw base::UserError("Codetta does not know this operation");
                row->translate(t, row->op);
            }
        } catch (const base::UserError& error) {
            throw base::UserError(error.message(), place(node));
        }
        for (const std::optional<uint32_t>& result : node.results)
            if (result) makers_[*result] = &node;
    }

    static std::string place(const ImportedNode& node) {
        return node.location.empty() ? node.target : fmt::format("{} at {}", node.target, node.location);
    }

    void add_copy(Translator& t) {
        const ImportedNode& node = t.node();
        uint32_t target = tensors_read(node).at(0);
        while (copies_.contains(target)) target = copies_.at(target); // a copy into the result of an earlier one
        const graph::TensorType type = type_of(value(target));
        ValueId source = t.cast(t.tensor("src"), type.dtype);
        if (t.type(source).shape != type.shape) source = t.add("expand", {source}, {{"shape", type.shape}});
        if (!inputs_.contains(target)) t.refuse("a write into a tensor that is no input of the model");
        writes_.push_back({target, node.results.empty() || !node.results[0] ? UINT32_MAX : *node.results[0], source, node.location});
        if (writes_.back().result == UINT32_MAX) return;
        copies_[writes_.back().result] = target;
        values_[writes_.back().result] = source;
    }

    void find_written(uint32_t target) { written_.insert(target); }

    // --- outputs

    /// The value that v is a view of and that this part either is given or makes: v itself when v has memory of its own.
    uint32_t storage_root(uint32_t v) const {
        while (!inputs_.contains(v)) {
            const auto maker = makers_.find(v);
            if (maker == makers_.end() || value(v).storage == 0) break;
            const std::vector<uint32_t> read = tensors_read(*maker->second);
            const auto parent =
                std::find_if(read.begin(), read.end(), [&](uint32_t p) { return p != v && value(p).storage == value(v).storage; });
            if (parent == read.end()) break;
            v = *parent;
        }
        return v;
    }

    void add_outputs() {
        std::map<uint32_t, std::set<uint32_t>> sharers; // root -> outputs over its memory
        for (const Argument& output : selection_.outputs)
            if (const auto* tensor = std::get_if<TensorRef>(&output.value)) sharers[storage_root(tensor->value)].insert(tensor->value);
        for (const Argument& output : selection_.outputs) {
            graph::Output made;
            if (const auto* tensor = std::get_if<TensorRef>(&output.value)) {
                made = output_of(tensor->value, sharers);
            } else {
                made.kind = graph::Output::Kind::size;
                if (const auto* i = std::get_if<int64_t>(&output.value))
                    made.size = *i;
                else
                    made.size = std::get<sym::Expr>(output.value);
            }
            builder_.output(std::move(made));
        }
    }

    graph::Output output_of(uint32_t v, const std::map<uint32_t, std::set<uint32_t>>& sharers) {
        using Kind = graph::Output::Kind;
        if (copies_.contains(v)) v = written_target(v);
        if (inputs_.contains(v)) return {.kind = Kind::input, .value = values_.at(v), .view_type = {}, .offset = 0, .size = 0};
        const uint32_t root = storage_root(v);
        const bool of_input = inputs_.contains(root);
        const bool shared = root != v && (of_input ? !written_.contains(root) : sharers.at(root).size() > 1 || !is_dense(value(v)));
        if (!shared) return {.kind = Kind::value, .value = fresh(v), .view_type = {}, .offset = 0, .size = 0};
        return {.kind = Kind::view,
                .value = of_input ? values_.at(root) : fresh(root),
                .view_type = type_of(value(v)),
                .offset = imported_.facts.simplify(value(v).offset - value(root).offset),
                .size = 0};
    }

    uint32_t written_target(uint32_t v) const {
        while (copies_.contains(v)) v = copies_.at(v);
        return v;
    }

    /// No two elements share memory: every stride is at least 1 where there is more than one element.
    static bool is_dense(const ImportedValue& v) {
        for (size_t d = 0; d < v.shape.size(); d++)
            if (v.strides[d].is(0) && !v.shape[d].is(1)) return false;
        return true;
    }

    /// A value of the graph with the promised strides, and that no other output uses with other strides.
    ValueId fresh(uint32_t v) {
        const auto known = fresh_.find(v);
        if (known != fresh_.end()) return known->second;
        ValueId made = values_.at(v);
        const bool is_input = graph::find_input(builder_.graph(), made) != nullptr;
        const bool taken = std::any_of(fresh_.begin(), fresh_.end(), [&](const auto& entry) { return entry.second == made; });
        if (is_input || taken) made = builder_.add1("clone", {made});
        builder_.set_strides(made, dense_strides(value(v)));
        return fresh_[v] = made;
    }

    /// The promised strides; an expanded dimension gets memory of its own.
    static std::vector<sym::Expr> dense_strides(const ImportedValue& v) {
        return is_dense(v) ? v.strides : graph::contiguous(v.dtype, v.shape).strides;
    }

    // --- writes

    void add_write(const InPlace& write) {
        const ValueId target = values_.at(write.target);
        const std::optional<uint32_t> maker = graph::producers(builder_.graph()).at(write.value.value);
        if (maker && updates_in_place(*maker, target) && !read_later(*maker, target)) {
            builder_.set_into(write.value, target);
            return;
        }
        builder_.set_into(builder_.add1("clone", {write.value}, {}, write.location), target);
    }

    /// The node writes parts of a copy of its first operand, which is the target.
    bool updates_in_place(uint32_t n, ValueId target) const {
        static constexpr std::string_view updates[] = {"index_copy", "slice_scatter", "select_scatter", "index_put", "index_add"};
        const graph::Node& node = builder_.graph().nodes[n];
        return std::find(std::begin(updates), std::end(updates), node.op) != std::end(updates) && node.inputs[0] == target && !node.into;
    }

    /// Whether a node after n, or an output, sees the old contents of the target, directly or through a view.
    bool read_later(uint32_t n, ValueId target) const {
        const graph::Graph& g = builder_.graph();
        std::set<ValueId> old = {target};
        for (size_t i = 0; i < g.nodes.size(); i++) {
            if (i == n) continue;
            const graph::Node& node = g.nodes[i];
            const bool reads = std::any_of(node.inputs.begin(), node.inputs.end(), [&](const auto& v) { return v && old.contains(*v); });
            if (!reads) continue;
            if (i > n) return true;
            if (builder_.ops().get(node.op).kind == graph::OpKind::view) old.insert(node.outputs.begin(), node.outputs.end());
        }
        old.erase(target);
        return std::any_of(g.outputs.begin(), g.outputs.end(), [&](const graph::Output& o) { return old.contains(o.value); });
    }

    const ImportedGraph& imported_;
    const Selection& selection_;
    graph::GraphBuilder builder_;
    std::map<uint32_t, ValueId> values_; // of the imported tensors
    std::map<uint32_t, const ImportedNode*> makers_;
    std::set<uint32_t> inputs_, written_;
    std::vector<InPlace> writes_;
    std::map<uint32_t, uint32_t> copies_; // result of a copy_ -> what it wrote into
    std::map<uint32_t, ValueId> fresh_;
};

} // namespace

Importer::Importer(const ImportedGraph& graph) : graph_(&graph), ops_(ops::list()) {}

base::Verdict Importer::can_import(uint32_t n) const {
    const ImportedNode& node = graph_->nodes.at(n);
    for (const std::optional<uint32_t>& result : node.results)
        if (result && !graph_->values.at(*result).refusal.empty()) return base::Verdict::no("{}", graph_->values.at(*result).refusal);
    Selection alone;
    alone.nodes = {n};
    std::set<uint32_t> seen;
    for (uint32_t v : tensors_read(node))
        if (seen.insert(v).second && !graph_->values.at(v).data) alone.inputs.push_back({v, false, false});
    alone.size_arguments.assign(graph_->symbols.begin(), graph_->symbols.end());
    try {
        const graph::Graph made = import(alone);
        for (const graph::Node& added : made.nodes)
            if (ops_.get(added.op).lower) (void)ops_.lower(made, added);
    } catch (const base::UserError& error) {
        return base::Verdict::no("{}", error.message());
    }
    return base::Verdict::yes();
}

graph::Graph Importer::import(const Selection& selection) const { return SegmentImport(*graph_, ops_, selection).run(); }

} // namespace codetta::frontends::aten
