#include "python/bind/identities.h"

#include <utility>

namespace nb = nanobind;

namespace codetta::python {

Identities::Identities() : callback_(nb::cpp_function([this](nb::handle weak_reference) { died(weak_reference.ptr()); })) {}

Identities::~Identities() {
    if (!Py_IsInitialized()) return;
    for (auto& [object, entry] : entries_) Py_DECREF(entry.weak_reference);
}

uint64_t Identities::token(PyObject* object) {
    const auto known = entries_.find(object);
    if (known != entries_.end()) {
        if (PyWeakref_GetObject(known->second.weak_reference) == object) return known->second.token;
        died(known->second.weak_reference); // and nobody told
    }
    PyObject* weak_reference = PyWeakref_NewRef(object, callback_.ptr());
    if (weak_reference == nullptr) nb::raise_python_error();
    object_of_.emplace(weak_reference, object);
    return entries_.emplace(object, Entry{weak_reference, next_++}).first->second.token;
}

uint64_t Identities::watch(Watcher watcher) {
    watchers_.emplace(next_watcher_, std::move(watcher));
    return next_watcher_++;
}

void Identities::died(PyObject* weak_reference) {
    const auto reference = object_of_.find(weak_reference);
    if (reference == object_of_.end()) return;
    const auto entry = entries_.find(reference->second);
    const uint64_t token = entry->second.token;
    entries_.erase(entry);
    object_of_.erase(reference);
    Py_DECREF(weak_reference);
    for (const auto& [id, watcher] : watchers_) watcher(token);
}

} // namespace codetta::python
