#include "codetta/tile/interpret.h"

#include "codetta/tile/interpreter/machine.h"

namespace codetta::tile {

int32_t interpret(const Program& p, const AtomSet& atoms, const Arguments& arguments, std::span<const TensorMap> tensor_maps,
                  Completion completion) {
    interpreter::Steps steps = interpreter::prepare(p, atoms);
    return interpreter::Machine(steps, arguments, tensor_maps, completion).run();
}

} // namespace codetta::tile
