// Made by tools/fit_math.py: do not edit. Lowest degree first.
#pragma once

#include <array>

namespace codetta::codegen {

// (e^r - 1 - r) / r^2 on [-0.34657, 0.34657]: error 6.49e-8
inline constexpr std::array<double, 5> k_f32_exp = {0x1.0000000000000p-1, 0x1.5554dd04e58bep-3, 0x1.55551933893e5p-5, 0x1.120b616c43f75p-7,
                                                    0x1.6d10fc65bafc6p-10};

// (2^f - 1) / f on [-0.5, 0.5]: error 7.8e-9
inline constexpr std::array<double, 6> k_f32_exp2 = {0x1.62e4302fc626ep-1, 0x1.ebfbe00e63baep-3,  0x1.c6af6cdbbdcc7p-5,
                                                     0x1.3b2a53045179ap-7, 0x1.5f0890162a90ap-10, 0x1.4413896e1ad27p-13};

// (log(1+f) - f + f^2/2) / f^3 on [-0.29289, 0.41421]: error 2.95e-8
inline constexpr std::array<double, 9> k_f32_log = {0x1.555553e3660dap-2,  -0x1.fffffbeac287ap-3, 0x1.999d5a430bf46p-3,
                                                    -0x1.555b4994ad12bp-3, 0x1.23d2196ef7977p-3,  -0x1.fcf4c673064efp-4,
                                                    0x1.dea28241d30a8p-4,  -0x1.d635bbe618494p-4, 0x1.1d8ea50b3f8a0p-4};

// (tanh x - x) / x^3 in x^2 on [0.0, 0.39063]: error 4.39e-8
inline constexpr std::array<double, 5> k_f32_tanh = {-0x1.5555526346510p-2, 0x1.110e1c9ed53c1p-3, -0x1.b9258aeffc781p-5,
                                                     0x1.58048d46fe82ap-6, -0x1.8f8de3f4a4895p-8};

// (erf x) / x - 1 in x^2 on [0.0, 1.0]: error 1.25e-9
inline constexpr std::array<double, 7> k_f32_erf = {0x1.06eba7f673903p-3,  -0x1.81273e7a02443p-2, 0x1.ce2d10ed44e09p-4,
                                                    -0x1.b7faba961c85ap-6, 0x1.541270c79ca2cp-8,  -0x1.a45087f1a200ap-11,
                                                    0x1.4a5690869d13fp-14};

// log2 Phi(-a) + a^2/2 log2 e on [0.0, 8.0]: error 1.92e-7
inline constexpr std::array<double, 13> k_f32_cdf = {
    -0x1.fffff9d9e2ce9p-1,  -0x1.26af4398f40e0p+0,  0x1.0c78046acbbd5p-2,  -0x1.ae96f82dfaf45p-5,  0x1.d0676fd965e63p-8,
    -0x1.5777f045abebbp-14, -0x1.0e8497cab0ee4p-12, 0x1.437b420708060p-14, -0x1.b49b53a7418cdp-17, 0x1.7e2db50fc5f1ap-20,
    -0x1.ad8c0c1d6402bp-24, 0x1.1a8847d843dc6p-28,  -0x1.4b30d6cb194b8p-34};

// (2^f - 1) / f on [-0.5, 0.5]: error 0.000324
inline constexpr std::array<double, 3> k_f32_exp2_for_bf16 = {0x1.62e42fefa39efp-1, 0x1.efb0381d28d3bp-3, 0x1.c8bdf9ad062a4p-5};

// log2 Phi(-a) + a^2/2 log2 e on [0.0, 6.0]: error 7.18e-5
inline constexpr std::array<double, 7> k_f32_cdf_for_bf16 = {-0x1.00037d6ec2b12p+0, -0x1.267739eddd078p+0, 0x1.0a6c9f9fe36cep-2,
                                                             -0x1.a3b6f6969f48fp-5, 0x1.d83fa1448121ap-8,  -0x1.40e2f53c9dde8p-11,
                                                             0x1.822a296b441c3p-16};

// (e^r - 1 - r) / r^2 on [-0.34657, 0.34657]: error 1.47e-18
inline constexpr std::array<double, 11> k_f64_exp = {0x1.0000000000000p-1,  0x1.5555555555557p-3,  0x1.5555555555552p-5,
                                                     0x1.11111111100dfp-7,  0x1.6c16c16c17a25p-10, 0x1.a01a01abe62ddp-13,
                                                     0x1.a01a019fe954ap-16, 0x1.71de02375656cp-19, 0x1.27e4e9d468d02p-22,
                                                     0x1.af4ddd84882fep-26, 0x1.1f5d26b76805bp-29};

// (2^f - 1 - f ln 2) / f^2 on [-0.5, 0.5]: error 6.92e-19
inline constexpr std::array<double, 11> k_f64_exp2 = {0x1.ebfbdff82c58fp-3,  0x1.c6b08d704a0c2p-5,  0x1.3b2ab6fba4e75p-7,
                                                      0x1.5d87fe78a5276p-10, 0x1.430912f86cda7p-13, 0x1.ffcbfc670dcd4p-17,
                                                      0x1.62c0223c0326ap-20, 0x1.b524fae627834p-24, 0x1.e4cf2d325215cp-28,
                                                      0x1.e9d3fe3952179p-32, 0x1.c477a293db1ccp-36};

// (log((1+s)/(1-s)) - 2s) / s^3 in s^2 on [0.0, 0.0295]: error 2.45e-18
inline constexpr std::array<double, 8> k_f64_log = {0x1.5555555555555p-1, 0x1.9999999999a3ap-2, 0x1.249249247670ap-2, 0x1.c71c7201fc0e6p-3,
                                                    0x1.745cf8c09a9d4p-3, 0x1.3b1c43c68eb6dp-3, 0x1.0fbd140544b63p-3, 0x1.0c135adcf3011p-3};

// (sin x - x) / x^3 in x^2 on [0.0, 0.61785]: error 1.17e-20
inline constexpr std::array<double, 7> k_f64_sin = {-0x1.5555555555555p-3, 0x1.1111111111110p-7,   -0x1.a01a01a01992ap-13,
                                                    0x1.71de3a545ed8ap-19, -0x1.ae64540fc0fa6p-26, 0x1.61217ca7db085p-33,
                                                    -0x1.ab166bc21bf70p-41};

// (cos x - 1 + x^2/2) / x^4 in x^2 on [0.0, 0.61785]: error 7.37e-22
inline constexpr std::array<double, 7> k_f64_cos = {0x1.5555555555555p-5,   -0x1.6c16c16c16c16p-10, 0x1.a01a01a019d04p-16,
                                                    -0x1.27e4fb7712106p-22, 0x1.1eed8dea401cep-29,  -0x1.9394b7ecbd7ddp-37,
                                                    0x1.ab771a86691fap-45};

// (atan x - x) / x^3 in x^2 on [0.0, 0.17257]: error 1.54e-19
inline constexpr std::array<double, 13> k_f64_atan = {
    -0x1.5555555555555p-2, 0x1.9999999999996p-3,  -0x1.2492492492071p-3, 0x1.c71c71c6da5a7p-4,  -0x1.745d17349adecp-4,
    0x1.3b13ae8e40f1fp-4,  -0x1.1110cc843e33ap-4, 0x1.e1d8a4568dbd5p-5,  -0x1.aeba80ed3e184p-5, 0x1.828c3440e9ca2p-5,
    -0x1.4ff90a42cb389p-5, 0x1.f4b8ce27c74a1p-6,  -0x1.c59fa226d4bebp-7};

// (asin x - x) / x^3 in x^2 on [0.0, 0.2501]: error 9.82e-19
inline constexpr std::array<double, 14> k_f64_asin = {
    0x1.5555555555555p-3, 0x1.3333333333389p-4, 0x1.6db6db6dac0eap-5,  0x1.f1c71c7a5e151p-6, 0x1.6e8ba121b9d5fp-6,
    0x1.1c4efd20ebb99p-6, 0x1.c990a42b32b03p-7, 0x1.7b02ef007d23ep-7,  0x1.3b462d121c5d2p-7, 0x1.31777489dfd29p-7,
    0x1.8dcdf11997e0fp-9, 0x1.40c91fa8deb7ep-6, -0x1.3bd7e353ddbc2p-6, 0x1.e58a4f278e007p-6};

// (erf x) / x - 1 in x^2 on [0.0, 1.0]: error 3.74e-19
inline constexpr std::array<double, 14> k_f64_erf = {
    0x1.06eba8214db69p-3,   -0x1.812746b0379e7p-2,  0x1.ce2f21a042bdep-4,   -0x1.b82ce312889bap-6, 0x1.565bcd0e6502dp-8,
    -0x1.c02db3feeb579p-11, 0x1.f9a326c233146p-14,  -0x1.f4d2561aeafd4p-17, 0x1.b9e6509b9867dp-20, -0x1.5f6d925a0bc7ap-23,
    0x1.fc4356498c2d9p-27,  -0x1.4e607b41a6416p-30, 0x1.7f072188e194dp-34,  -0x1.29b9f1b3df556p-38};

// erfcx(x) (1 + 2x), t = (x - 3.75) / (x + 3.75) on [-1.0, 0.79]: error 3.92e-18
inline constexpr std::array<double, 24> k_f64_erfcx = {
    0x1.3ccda0b5d5dc2p+0,   -0x1.1f367683f89a6p-3,  0x1.d5f294815931bp-9,   0x1.510169d0966e7p-4,   -0x1.bda9309a275e6p-4,
    0x1.7a14188a9c9bcp-4,   -0x1.e0d0fa6e36d3ap-5,  0x1.d0b0037ce62aap-6,   -0x1.3f603c29c954cp-7,  0x1.cc3a0ec21d7ddp-10,
    0x1.33fb1c1b0c8a9p-12,  -0x1.303fae99f4d6ep-12, 0x1.b1455545bb85cp-15,  0x1.778ed2ea0955ep-16,  -0x1.8012d2ed9df1ep-17,
    -0x1.05fb94ca22157p-20, 0x1.d7236c00af69bp-20,  -0x1.c27983e26ec6bp-25, -0x1.192bcccafa676p-22, 0x1.2bd1b51a9de7cp-26,
    0x1.55390082009b6p-25,  0x1.dd77336beceb7p-33,  -0x1.3cbcf698e6240p-28, -0x1.d26ad7a9204c1p-31};

// The bits of 2/pi behind the point, 64 a word.
inline constexpr std::array<unsigned long long, 20> k_two_over_pi = {
    0xa2f9836e4e441529ull, 0xfc2757d1f534ddc0ull, 0xdb6295993c439041ull, 0xfe5163abdebbc561ull, 0xb7246e3a424dd2e0ull,
    0x06492eea09d1921cull, 0xfe1deb1cb129a73eull, 0xe88235f52ebb4484ull, 0xe99c7026b45f7e41ull, 0x3991d639835339f4ull,
    0x9c845f8bbdf9283bull, 0x1ff897ffde05980full, 0xef2f118b5a0a6d1full, 0x6d367ecf27cb09b7ull, 0x4f463f669e5fea2dull,
    0x7527bac7ebe5f17bull, 0x3d0739f78a5292eaull, 0x6bfb5fb11f8d5d08ull, 0x56033046fc7b6babull, 0xf0cfbc209af4361dull};

} // namespace codetta::codegen
