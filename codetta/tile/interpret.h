// Runs a tile program on host arrays: the judge of codegen and of every template at small sizes.
#pragma once

#include <span>

#include "codetta/scalar/host_array.h"
#include "codetta/tile/atom.h"

namespace codetta::tile {

// When asynchronous operations take effect: at their issue, or as late as their wait allows. A program whose result differs between the two
// has a race.
enum class Completion : uint8_t { early, late };

struct Arguments {
    std::vector<scalar::HostArray>
        pointers; // 1-d, per parameter buffer; bounds are checked: a touch outside is an InternalError naming the statement
    std::vector<int64_t> integers;
    int64_t sms = 2; // value of the symbol `sms` in Grid::ctas
};
struct TensorMap {            // stands for a TMA descriptor parameter (in the order of the tensormap parameters): the tensor it describes
    scalar::HostArray tensor; // extents outermost first; box and swizzle stand in the Buffer
};

// Returns the status code (0: well). GPU: every warp of a CTA runs until it must wait, then the next; CTAs one after another. When all
// wait: an InternalError that lists who waits on what.
int32_t interpret(const Program& p, const AtomSet& atoms, const Arguments& arguments, std::span<const TensorMap> tensor_maps = {},
                  Completion completion = Completion::early);

} // namespace codetta::tile
