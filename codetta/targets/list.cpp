#include "codetta/targets/list.h"

namespace codetta::targets {

tile::AtomSet atoms() {
    std::vector<tile::Atom> all;
    for (auto&& some : {x86_avx2_atoms(), x86_avx512_atoms(), x86_amx_atoms(), sm90_atoms()})
        all.insert(all.end(), some.begin(), some.end());
    return tile::AtomSet(std::move(all));
}

} // namespace codetta::targets
