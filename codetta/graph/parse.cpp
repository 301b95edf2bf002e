#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

#include "codetta/base/error.h"
#include "codetta/graph/cursor.h"
#include "codetta/graph/graph.h"

namespace codetta::graph {

namespace {

class Parser {
public:
    Parser(std::string_view text, const ConstantStore& constants) : at_(text), constants_(constants) {}

    Graph run() {
        at_.expect("graph");
        g_.name = at_.word();
        at_.expect("(");
        for (bool first = true; !at_.eat(")"); first = false) {
            if (!first) at_.expect(",");
            input();
        }
        if (at_.eat("sizes")) {
            do g_.size_arguments.push_back(at_.word());
            while (at_.eat(","));
        }
        if (at_.eat("where")) {
            std::string facts = at_.until("{");
            g_.facts = guarded([&] { return sym::parse_facts(facts); });
        }
        at_.expect("{");
        while (!at_.eat("return")) statement();
        if (!at_.eat("}")) {
            do output();
            while (at_.eat(","));
            at_.expect("}");
        }
        if (!at_.at_end()) at_.fail("something follows the graph");
        return std::move(g_);
    }

private:
    // Errors of nested parsers get our line and column.
    template <class F>
    auto guarded(F&& f) -> decltype(f()) {
        try {
            return f();
        } catch (const base::UserError& e) {
            at_.fail(e.what());
        } catch (const base::InternalError&) { // of arithmetic on sizes
            at_.fail("a number is too large");
        }
    }

    std::vector<sym::Expr> expr_list() {
        std::vector<sym::Expr> list;
        at_.expect("[");
        while (!at_.eat("]")) {
            if (!list.empty()) at_.expect(",");
            std::string item = at_.until(",]");
            list.push_back(guarded([&] { return sym::parse_expr(item); }));
        }
        return list;
    }

    TensorType type() {
        std::string dtype = at_.word();
        scalar::DType t = guarded([&] { return scalar::parse_dtype(dtype); });
        std::vector<sym::Expr> shape = expr_list();
        for (const sym::Expr& e : shape)
            if (e.constant() && *e.constant() < 0) at_.fail(fmt::format("a size is {}", *e.constant()));
        TensorType result = guarded([&] { return contiguous(t, std::move(shape)); });
        if (at_.eat("strides")) result.strides = expr_list();
        if (result.strides.size() != result.shape.size()) at_.fail("as many strides as sizes are needed");
        return result;
    }

    ValueId define(std::string name, TensorType type) {
        ValueId v(g_.values.size());
        if (!names_.emplace(name, v).second) at_.fail(fmt::format("'%{}' is defined twice", name));
        g_.values.push_back({std::move(name), std::move(type)});
        return v;
    }

    ValueId define() {
        at_.expect("%");
        std::string name = at_.word();
        at_.expect(":");
        return define(std::move(name), type());
    }

    ValueId use() {
        at_.expect("%");
        std::string name = at_.word();
        auto it = names_.find(name);
        if (it == names_.end()) at_.fail(fmt::format("'%{}' is not defined", name));
        return it->second;
    }

    void input() {
        Input i;
        i.value = define();
        if (at_.eat("parameter")) i.kind = InputKind::parameter;
        i.frozen = at_.eat("frozen");
        g_.inputs.push_back(std::move(i));
    }

    void statement() {
        std::vector<ValueId> results = {define()};
        while (at_.eat(",")) results.push_back(define());
        at_.expect("=");
        std::string op = at_.word();
        if (op == "data") return constant(results.at(0));
        Node n;
        n.op = std::move(op);
        n.outputs = std::move(results);
        at_.expect("(");
        for (bool first = true; !at_.eat(")"); first = false) {
            if (!first) at_.expect(",");
            argument(n);
        }
        n.location = at_.comment();
        if (n.location.empty() && at_.eat("into")) {
            n.into = use();
            n.location = at_.comment();
        }
        g_.nodes.push_back(std::move(n));
    }

    void argument(Node& n) {
        if (at_.next_is("%")) {
            n.inputs.push_back(use());
        } else if (at_.eat("_")) {
            n.inputs.push_back(std::nullopt);
        } else {
            std::string key = at_.word();
            at_.expect("=");
            std::string value = at_.until(",)");
            n.attributes[key] = guarded([&] { return parse_attribute(value); });
        }
    }

    void constant(ValueId v) {
        std::vector<int64_t> extents;
        int64_t elements = 1;
        for (const sym::Expr& e : g_.type(v).shape) {
            if (!e.constant()) at_.fail("the sizes of a constant are numbers");
            extents.push_back(*e.constant());
            if (__builtin_mul_overflow(elements, extents.back(), &elements)) at_.fail("the constant is too large");
        }
        scalar::HostArray array;
        at_.expect("(");
        if (at_.eat("hash")) {
            std::string hash = at_.quoted();
            auto it = constants_.find(hash);
            if (it == constants_.end()) at_.fail(fmt::format("the constant with hash \"{}\" is not at hand", hash));
            array = it->second;
        } else {
            at_.expect("[");
            std::vector<std::string> items;
            while (!at_.eat("]")) {
                if (!items.empty()) at_.expect(",");
                items.push_back(at_.until(",]"));
            }
            if (static_cast<int64_t>(items.size()) != elements)
                at_.fail(fmt::format("the constant has {} elements, not {}", elements, items.size()));
            array = scalar::HostArray(g_.type(v).dtype, extents);
            fill(array, items);
        }
        at_.expect(")");
        g_.inputs.push_back({v, InputKind::constant, false, std::move(array)});
    }

    void fill(const scalar::HostArray& array, const std::vector<std::string>& items) {
        std::vector<int64_t> at(array.extents().size(), 0);
        for (const std::string& item : items) {
            array.store(at, element(array.dtype(), item));
            for (size_t d = at.size(); d-- > 0;) {
                if (++at[d] < array.extents()[d]) break;
                at[d] = 0;
            }
        }
    }

    scalar::Scalar element(scalar::DType t, const std::string& item) {
        char* end = nullptr;
        if (item == "true" || item == "false") return scalar::make_integer(t, item == "true");
        if (scalar::is_float(t)) {
            double v = std::strtod(item.c_str(), &end);
            if (item.empty() || *end != 0) at_.fail(fmt::format("'{}' is not a number", item));
            return scalar::make_float(t, v);
        }
        int64_t v = std::strtoll(item.c_str(), &end, 10);
        if (item.empty() || *end != 0) at_.fail(fmt::format("'{}' is not an integer", item));
        return scalar::make_integer(t, v);
    }

    void output() {
        Output o;
        if (at_.eat("size")) {
            at_.expect("(");
            o.kind = Output::Kind::size;
            std::string text = at_.until(")");
            o.size = guarded([&] { return sym::parse_expr(text); });
            at_.expect(")");
        } else if (at_.eat("view")) {
            at_.expect("(");
            o.kind = Output::Kind::view;
            o.value = use();
            at_.expect(",");
            o.view_type = type();
            at_.expect(",");
            at_.expect("offset");
            std::string text = at_.until(")");
            o.offset = guarded([&] { return sym::parse_expr(text); });
            at_.expect(")");
        } else {
            o.value = use();
            o.kind = find_input(g_, o.value) ? Output::Kind::input : Output::Kind::value;
        }
        g_.outputs.push_back(std::move(o));
    }

    Cursor at_;
    const ConstantStore& constants_;
    Graph g_;
    std::map<std::string, ValueId, std::less<>> names_;
};

} // namespace

Graph parse_graph(std::string_view text, const ConstantStore& constants) { return Parser(text, constants).run(); }

} // namespace codetta::graph
