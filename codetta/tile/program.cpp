#include "codetta/tile/program.h"

#include "codetta/base/error.h"
#include "codetta/tile/atom.h"
#include "codetta/tile/view.h"

namespace codetta::tile {

using sym::Expr;

namespace {

int64_t alignment(const Buffer& b) {
    if (b.space == Space::scratch) return std::max<int64_t>(b.align_bytes, 64);
    if (b.space == Space::barrier) return 8;
    return std::max<int64_t>(b.align_bytes, 16);
}

Expr buffer_bytes(const Buffer& b) { return b.space == Space::barrier ? b.elements * 8 : b.elements * scalar::bytes(b.dtype); }

Expr round_up(const Expr& value, int64_t to) { return sym::ceil_div(value, to) * to; }

bool in_smem(const Buffer& b) { return b.space == Space::smem || b.space == Space::barrier; }

bool same_space(const Buffer& a, const Buffer& b) { return a.space == b.space || (in_smem(a) && in_smem(b)); }

} // namespace

Expr offset_bytes(const Program& p, BufferId buffer) {
    const Buffer& wanted = p.buffer(buffer);
    CODETTA_CHECK(wanted.space == Space::scratch || in_smem(wanted), "buffer {} has no place in a common space", wanted.name);
    Expr at = 0;
    for (size_t i = 0; i < p.buffers.size(); ++i) {
        const Buffer& b = p.buffers[i];
        if (!same_space(b, wanted)) continue;
        at = round_up(at, alignment(b));
        if (i == buffer.value) return at;
        at = at + buffer_bytes(b);
    }
    return at;
}

Expr scratch_bytes(const Program& p) {
    for (size_t i = p.buffers.size(); i-- > 0;)
        if (p.buffers[i].space == Space::scratch) return round_up(offset_bytes(p, BufferId(i)) + buffer_bytes(p.buffers[i]), 64);
    return 0;
}

int64_t smem_bytes(const Program& p) {
    for (size_t i = p.buffers.size(); i-- > 0;) {
        if (!in_smem(p.buffers[i])) continue;
        Expr end = offset_bytes(p, BufferId(i)) + buffer_bytes(p.buffers[i]);
        CODETTA_CHECK(end.constant().has_value(), "shared memory of {} is not static", p.name);
        return *end.constant();
    }
    return 0;
}

int64_t Fragment::threads() const { return thread_value.rank() == 2 ? static_size(thread_value.shape.mode(0)) : 1; }

AtomSet::AtomSet(std::vector<Atom> atoms) : atoms_(std::move(atoms)) {}

const Atom* AtomSet::find(std::string_view name) const {
    for (const Atom& a : atoms_)
        if (a.name == name) return &a;
    return nullptr;
}

const Atom& AtomSet::get(std::string_view name) const {
    const Atom* found = find(name);
    CODETTA_CHECK(found, "no atom is called `{}`", name);
    return *found;
}

} // namespace codetta::tile
