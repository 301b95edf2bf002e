// Names live Python objects by numbers that are never used again: the identity of frozen weights. All calls under the GIL.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <functional>
#include <map>
#include <unordered_map>

namespace codetta::python {

class Identities {
public:
    using Watcher = std::function<void(uint64_t token)>;

    Identities();
    Identities(const Identities&) = delete;
    Identities& operator=(const Identities&) = delete;
    ~Identities();

    /// @post the same for the same live object; another one for an object that was made at the address of a dead one
    uint64_t token(PyObject* object);

    /// `watcher` is told the token of every object that dies, until unwatch. It throws nothing and touches no Python object.
    uint64_t watch(Watcher watcher);
    void unwatch(uint64_t id) { watchers_.erase(id); }

private:
    struct Entry {
        PyObject* weak_reference = nullptr; // owned
        uint64_t token = 0;
    };
    void died(PyObject* weak_reference);

    nanobind::object callback_;
    std::unordered_map<PyObject*, Entry> entries_;       // by object
    std::unordered_map<PyObject*, PyObject*> object_of_; // by weak reference
    std::map<uint64_t, Watcher> watchers_;
    uint64_t next_ = 1, next_watcher_ = 1;
};

} // namespace codetta::python
