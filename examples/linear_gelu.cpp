// One layer of a transformer in C++: compiled for this machine, called with two numbers of rows, compared with a plain loop.
#include <codetta/codetta.h>

#include <cmath>
#include <cstdio>
#include <vector>

using namespace codetta::tensor;

int main() {
    const int64_t in = 64, out = 96;
    std::vector<float> weights(in * out), bias(out);
    for (size_t i = 0; i < weights.size(); ++i) weights[i] = 0.01f * static_cast<float>(i % 37) - 0.18f;
    for (size_t i = 0; i < bias.size(); ++i) bias[i] = 0.1f * static_cast<float>(i % 7) - 0.3f;

    Tensor x = input("x", {dim("rows"), in}); // the number of rows is decided by each call
    Tensor w = parameter("w", {weights, {in, out}}), b = parameter("b", {bias, {out}});
    Compiled layer = compile({x}, {gelu(matmul(x, w) + b)});

    double worst = 0;
    for (int64_t rows : {5, 128}) {
        std::vector<float> data(rows * in);
        for (size_t i = 0; i < data.size(); ++i) data[i] = std::sin(0.1f * static_cast<float>(i));
        Array y = layer({{data, {rows, in}}})[0];
        for (int64_t m = 0; m < rows; ++m)
            for (int64_t n = 0; n < out; ++n) {
                double sum = bias[n];
                for (int64_t k = 0; k < in; ++k) sum += static_cast<double>(data[m * in + k]) * weights[k * out + n];
                worst = std::fmax(worst, std::fabs(y.as<float>()[m * out + n] - 0.5 * sum * (1 + std::erf(sum / std::sqrt(2.0)))));
            }
    }
    std::printf("%slargest error %.1e\n", layer.explain().c_str(), worst);
    return worst < 1e-5 ? 0 : 1;
}
