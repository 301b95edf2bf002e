// Writes Codetta's Hopper matrix kernels as text (tile language), PTX and, when ptxas is there, cubins, with the manifest that
// bench/hopper_gemm.py reads.
//
//     example_hopper_gemm FOLDER
//
// Without a folder it prints the tile program of one kernel. Needs no GPU.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "codetta/codegen/compile.h"
#include "codetta/kernels/gemm/gemm_sm90.h"
#include "codetta/targets/list.h"
#include "codetta/tile/verify.h"

using namespace codetta;
namespace gemm = codetta::kernels::gemm;

namespace {

struct Variant {
    const char* name;
    gemm::Epilogue epilogue;
};

void write(const std::filesystem::path& path, const std::string& text) {
    std::ofstream file(path);
    file << text;
    if (!file.flush()) {
        std::cerr << "cannot write " << path << "\n";
        std::exit(1);
    }
}

} // namespace

int main(int argc, char** argv) {
    const auto dtype = scalar::DType::bf16;
    if (argc < 2) {
        std::cout << tile::to_string(
            gemm::build_gemm_sm90("gemm", gemm::gemm_sm90_configs()[0], dtype, gemm::bias_gelu_epilogue(dtype, true)));
        return 0;
    }
    const std::filesystem::path folder = argv[1];
    std::filesystem::create_directories(folder);
    const tile::AtomSet atoms = targets::atoms();
    const base::Target target = base::make_target("sm90");
    const Variant variants[] = {{"none", gemm::plain_epilogue(dtype)},
                                {"gelu_tanh", gemm::bias_gelu_epilogue(dtype, true)},
                                {"gelu_erf", gemm::bias_gelu_epilogue(dtype, false)}};
    std::string manifest;
    for (const gemm::GemmSm90Config& config : gemm::gemm_sm90_configs())
        for (const Variant& variant : variants) {
            const std::string name = "gemm_sm90_bf16_" + gemm::to_string(config) + "_" + variant.name;
            const tile::Program program = gemm::build_gemm_sm90(name, config, dtype, variant.epilogue);
            tile::verify(program, atoms);
            write(folder / (name + ".tile"), tile::to_string(program));
            write(folder / (name + ".ptx"), codegen::assembly(program, atoms, target));
            const std::string assemble =
                "ptxas -O3 -arch=sm_90a '" + (folder / (name + ".ptx")).string() + "' -o '" + (folder / (name + ".cubin")).string() + "'";
            if (std::system(assemble.c_str()) != 0) std::cerr << name << ": no cubin, the driver will assemble the PTX\n";
            manifest += name + " tile_m=" + std::to_string(config.tile_m()) + " tile_n=" + std::to_string(config.tile_n) +
                        " threads=" + std::to_string(config.threads()) + " smem=" + std::to_string(tile::smem_bytes(program) + 1024) +
                        " epilogue=" + variant.name + "\n";
        }
    write(folder / "manifest.txt", manifest);
    return 0;
}
