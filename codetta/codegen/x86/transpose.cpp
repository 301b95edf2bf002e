#include "codetta/codegen/x86/transpose.h"

namespace codetta::codegen::x86 {

std::vector<llvm::Value*> transpose(Ir& ir, int rows, int columns, const std::function<llvm::Value*(int, int)>& chunk) {
    std::vector<llvm::Value*> out;
    const auto in_lane = [&](llvm::Value* a, llvm::Value* b, int s0, int s1, int s2,
                             int s3) { // as vunpck and vshufps: the same in each 128-bit lane
        const int source[] = {s0, s1, s2, s3};
        return ir.shuffle(a, b, rows, [&](int i) {
            const int lane = i / 4 * 4, from = source[i % 4];
            return from < 4 ? lane + from : rows + lane + from - 4;
        });
    };
    for (int q = 0; q < columns / 4; ++q) {
        llvm::Value* t[4];
        for (int r = 0; r < 4; ++r) { // lane l of t[r]: row r + 4l
            std::vector<llvm::Value*> parts;
            for (int row = r; row < rows; row += 4) parts.push_back(chunk(row, q));
            for (int lanes = 4; parts.size() > 1; lanes *= 2) {
                std::vector<llvm::Value*> joined;
                for (size_t i = 0; i < parts.size(); i += 2)
                    joined.push_back(ir.shuffle(parts[i], parts[i + 1], 2 * lanes, [](int i) { return i; }));
                parts = std::move(joined);
            }
            t[r] = parts[0];
        }
        llvm::Value *a = in_lane(t[0], t[1], 0, 4, 1, 5), *b = in_lane(t[0], t[1], 2, 6, 3, 7);
        llvm::Value *c = in_lane(t[2], t[3], 0, 4, 1, 5), *d = in_lane(t[2], t[3], 2, 6, 3, 7);
        out.push_back(in_lane(a, c, 0, 1, 4, 5));
        out.push_back(in_lane(a, c, 2, 3, 6, 7));
        out.push_back(in_lane(b, d, 0, 1, 4, 5));
        out.push_back(in_lane(b, d, 2, 3, 6, 7));
    }
    return out;
}

} // namespace codetta::codegen::x86
