// Errors, options and the log level.
#include "codetta/base/error.h"

#include "codetta/base/log.h"
#include "codetta/base/options.h"
#include "python/bind/bind.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <exception>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace nb = nanobind;

namespace codetta::python {
namespace {

/// What Python sees: UserError is a ValueError, IndexError is Python's own, the others are RuntimeErrors.
void bind_errors(nb::module_& module) {
    // Translators are tried in reverse order of registration: the most derived comes last.
    nb::exception<base::Error>(module, "Error", PyExc_RuntimeError);
    nb::exception<base::DeviceError>(module, "DeviceError", PyExc_RuntimeError);
    nb::exception<base::InternalError>(module, "InternalError", PyExc_RuntimeError);
    nb::exception<base::UserError>(module, "UserError", PyExc_ValueError);
    nb::register_exception_translator([](const std::exception_ptr& error, void*) {
        try {
            std::rethrow_exception(error);
        } catch (const base::IndexError& index_error) {
            PyErr_SetString(PyExc_IndexError, index_error.what());
        }
    });
}

using OptionTuple = std::tuple<std::string, std::string, std::string, std::string>;

std::vector<OptionTuple> option_rows() {
    const base::Options defaults;
    std::vector<OptionTuple> rows;
    for (const base::OptionRow& row : base::option_table())
        rows.emplace_back(std::string(row.name), row.get(defaults), std::string(row.values), std::string(row.sentence));
    return rows;
}

std::string get_option(const base::Options& options, std::string_view name) {
    for (const base::OptionRow& row : base::option_table())
        if (row.name == name) return row.get(options);
    throw base::UserError(fmt::format("unknown option '{}'", name));
}

} // namespace

void bind_base(nb::module_& module) {
    bind_errors(module);

    nb::class_<base::Options>(module, "Options", "The options of one compilation; see option_rows().")
        .def(nb::init<>())
        .def(
            "set", [](base::Options& options, std::string_view name, std::string_view value) { base::set_option(options, name, value); },
            nb::arg("name"), nb::arg("value"), "Sets one option from text; a bad name or value is a UserError with the nearest one.")
        .def("get", &get_option, nb::arg("name"), "The option's value as text.")
        .def("__str__", [](const base::Options& options) { return base::to_string(options); })
        .def("__eq__", [](const base::Options& a, const base::Options& b) { return a == b; });

    module.def(
        "options_from",
        [](const std::vector<std::pair<std::string, std::string>>& pairs) { return base::apply_options(base::apply_environment(), pairs); },
        nb::arg("pairs"), "Defaults, then CODETTA_* of the environment, then `pairs`.");
    module.def("option_rows", &option_rows, "Every option as (name, default, values, sentence).");
    module.def("set_log_level", [](std::string_view name) { base::set_log_level(base::parse_log_level(name)); }, nb::arg("name"));
}

} // namespace codetta::python
