"""Checks and times Codetta's Hopper matrix kernels against torch on one GPU.

    python bench/hopper_gemm.py KERNELS [--shapes 4096x4096x4096,8192x8192x8192] [--rounds 7] [--no-compile]

KERNELS is a folder with manifest.txt (one line a kernel: `name key=value ...`) and name.cubin or name.ptx; examples/hopper_gemm.cpp writes it.
Every kernel is checked first: out poisoned with NaN, ragged and full shapes, relative error against an f32 product. Timing (burst): per round the
candidates in random order, each after an idle gap (clocks recover) and two warm-up calls, ~10 ms back to back over rotating inputs; medians.
"""
import argparse
import ctypes as C
import os
import random
import statistics
import sys
import time

import torch
import torch.nn.functional as F

cuda = C.CDLL("libcuda.so.1")
BF16, SWIZZLE_128B, L2_256B = 9, 3, 3
LIMIT = 2.0**-8  # relative error of a tensor: the rounding of bf16


def call(name, *arguments):
    result = getattr(cuda, name)(*arguments)
    if result:
        text = C.c_char_p()
        cuda.cuGetErrorString(result, C.byref(text))
        raise RuntimeError(f"{name}: {(text.value or b'').decode()} ({result})")


class Kernel:
    """One compiled kernel. `prototype` kernels take tile counts, ours take m, n, k."""

    def __init__(self, folder, line):
        self.name, *fields = line.split()
        values = dict(f.split("=", 1) for f in fields)
        self.tile_m, self.tile_n, self.threads, self.smem = (int(values[k]) for k in ("tile_m", "tile_n", "threads", "smem"))
        self.epilogue = values["epilogue"]  # none, gelu_tanh, gelu_erf
        self.prototype = values.get("abi") == "prototype"
        path = os.path.join(folder, self.name)
        path = path + ".cubin" if os.path.exists(path + ".cubin") else path + ".ptx"
        with open(path, "rb") as file:
            image = file.read() + b"\0"
        module, self.function = C.c_void_p(), C.c_void_p()
        call("cuModuleLoadData", C.byref(module), image)
        call("cuModuleGetFunction", C.byref(self.function), module, self.name.encode())
        call("cuFuncSetAttribute", self.function, 8, self.smem)
        self.registers, self.local_bytes = self.attribute(4), self.attribute(3)

    def attribute(self, which):
        value = C.c_int()
        call("cuFuncGetAttribute", C.byref(value), which, self.function)
        return value.value

    def bind(self, a, b, out, bias):
        """A function that launches the kernel on these tensors."""
        (m, k), n = a.shape, b.shape[0]
        maps = [tensor_map(a, (self.tile_m, 64)), tensor_map(b, (self.tile_n, 64)), tensor_map(out, (64, 64))]
        tiles_m, tiles_n = -(-m // self.tile_m), -(-n // self.tile_n)
        values = []
        if self.prototype:
            values = [C.c_uint64(bias.data_ptr()), C.c_int(tiles_m), C.c_int(tiles_n), C.c_int(-(-k // 64))]
        else:
            if self.epilogue != "none":
                values.append(C.c_uint64(bias.data_ptr()))
            values += [C.c_int64(m), C.c_int64(n), C.c_int64(k)]
        pointers = (C.c_void_p * (3 + len(values)))(*[address for _, address in maps], *[C.addressof(v) for v in values])
        grid = min(SMS, tiles_m * tiles_n)

        def launch(keep=(maps, values)):
            stream = C.c_void_p(torch.cuda.current_stream().cuda_stream)
            call("cuLaunchKernel", self.function, grid, 1, 1, self.threads, 1, 1, self.smem, stream, pointers, None)

        return launch


def tensor_map(tensor, box):
    rows, columns = tensor.shape
    memory = (C.c_uint8 * 192)()
    address = C.addressof(memory) + (-C.addressof(memory)) % 64
    extents, strides = (C.c_uint64 * 2)(columns, rows), (C.c_uint64 * 1)(columns * tensor.element_size())
    sizes, steps = (C.c_uint32 * 2)(box[1], box[0]), (C.c_uint32 * 2)(1, 1)
    call("cuTensorMapEncodeTiled", C.c_void_p(address), BF16, 2, C.c_void_p(tensor.data_ptr()), extents, strides, sizes, steps, 0, SWIZZLE_128B, L2_256B, 0)
    return memory, address


def make_inputs(m, n, k):
    a = torch.randn(m, k, device="cuda").bfloat16()
    b = (torch.randn(n, k, device="cuda") * k**-0.5).bfloat16()
    bias = torch.randn(n + 512, device="cuda").bfloat16()[:n]  # the prototype reads whole tiles of it
    return a, b, torch.empty(m, n, device="cuda", dtype=torch.bfloat16), bias


def reference(a, b, bias, epilogue):
    product = a.float() @ b.float().T
    if epilogue == "none":
        return product
    return F.gelu(product + bias.float(), approximate="tanh" if epilogue == "gelu_tanh" else "none")


def wait(name, seconds=5):
    done, start = torch.cuda.Event(), time.time()
    done.record()
    while not done.query():
        if time.time() - start > seconds:
            print(f"{name}: hangs", flush=True)
            os._exit(3)
        time.sleep(0.0005)


def check(kernels, shapes):
    """The kernels that are right on all shapes."""
    good = {k.name: True for k in kernels}
    errors = {k.name: [] for k in kernels}
    for shape in shapes:
        a, b, out, bias = make_inputs(*shape)
        wanted = {e: reference(a, b, bias, e) for e in {k.epilogue for k in kernels}}
        for kernel in kernels:
            out.fill_(float("nan"))
            kernel.bind(a, b, out, bias)()
            wait(kernel.name)
            want, first = wanted[kernel.epilogue], out.clone()
            error = ((out.float() - want).norm() / want.norm()).item()
            rows = ((out.float() - want).norm(dim=1) / want.norm(dim=1).clamp(min=1e-20)).max().item()
            for _ in range(3):  # the same bits every time
                out.fill_(float("nan"))
                kernel.bind(a, b, out, bias)()
            wait(kernel.name)
            same = torch.equal(out, first)
            errors[kernel.name].append(f"{error:.2e}" + ("" if same else "(bits differ)"))
            good[kernel.name] &= error == error and error <= LIMIT and rows <= 3 * LIMIT and same
        del wanted
    print("checked on", " ".join("x".join(map(str, s)) for s in shapes), f"(limit {LIMIT:.2e}, per row {3 * LIMIT:.2e}, same bits 4 times)")
    for kernel in kernels:
        verdict = "ok " if good[kernel.name] else "BAD"
        print(f"  {verdict} {kernel.name:60s} {kernel.registers} registers, {kernel.local_bytes} local bytes, errors {' '.join(errors[kernel.name])}", flush=True)
    return [k for k in kernels if good[k.name]]


def burst(candidates, calls, rounds, idle=0.1):
    times = {name: [] for name in candidates}
    for _ in range(rounds):
        for name in random.sample(list(candidates), len(candidates)):
            functions = candidates[name]
            torch.cuda.synchronize()
            time.sleep(idle)
            for i in range(2):
                functions[i % len(functions)]()
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            for i in range(calls):
                functions[i % len(functions)]()
            end.record()
            end.synchronize()
            times[name].append(start.elapsed_time(end) / calls)
    return {name: (statistics.median(t), min(t)) for name, t in times.items()}


def show(title, results, flops, base):
    print(f"== {title}; ratio = {base} time / time")
    reference_time = results[base][0]
    for name, (median, best) in sorted(results.items(), key=lambda item: item[1][0]):
        print(f"  {name:60s} {median * 1e3:9.1f} us {flops / median / 1e9:7.1f} TFLOP/s  best {flops / best / 1e9:7.1f}  ratio {reference_time / median:.3f}", flush=True)


def time_shape(kernels, shape, rounds, compiled):
    m, n, k = shape
    flops = 2.0 * m * n * k
    sets = [make_inputs(m, n, k) for _ in range(4 if flops <= 2 * 4096.0**3 else 2)]
    calls = max(6, int(0.010 / (flops / 700e12)))

    def bound(epilogues):
        return {kern.name: [kern.bind(*s) for s in sets] for kern in kernels if kern.epilogue in epilogues}

    def over_sets(function):
        return [lambda s=s: function(*s) for s in sets]

    plain = bound({"none"})
    plain["torch.matmul"] = over_sets(lambda a, b, out, bias: torch.matmul(a, b.T, out=out))
    show(f"{m}x{n}x{k} bf16", burst(plain, calls, rounds), flops, "torch.matmul")
    fused = bound({"gelu_tanh", "gelu_erf"})
    eager = lambda a, b, bias: F.gelu(F.linear(a, b, bias), approximate="tanh")
    fused["torch eager linear, gelu(tanh)"] = over_sets(lambda a, b, out, bias: eager(a, b, bias))
    fused["torch _addmm_activation (cublasLt gelu)"] = over_sets(lambda a, b, out, bias: torch._addmm_activation(bias, a, b.T, use_gelu=True))
    fused["torch.matmul (no epilogue)"] = plain["torch.matmul"]
    if compiled:
        fused["torch.compile linear, gelu(tanh)"] = over_sets(lambda a, b, out, bias: compiled(a, b, bias))
    for functions in fused.values():
        functions[0]()
    show(f"{m}x{n}x{k} bf16, bias + gelu", burst(fused, calls, rounds), flops, "torch eager linear, gelu(tanh)")


def parse_shapes(text):
    return [tuple(int(x) for x in shape.split("x")) for shape in text.split(",") if shape]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kernels")
    parser.add_argument("--shapes", type=parse_shapes, default=parse_shapes("4096x4096x4096,8192x8192x8192"))
    parser.add_argument("--check", type=parse_shapes, default=parse_shapes("40x72x8,200x264x136,1000x2000x1032,2048x4096x1536,4096x4096x4096"))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out")
    options = parser.parse_args()
    torch.zeros(1, device="cuda")
    global SMS
    SMS = torch.cuda.get_device_properties(0).multi_processor_count
    print(torch.cuda.get_device_name(0), f"{SMS} SMs, torch {torch.__version__}", flush=True)
    with open(os.path.join(options.kernels, "manifest.txt")) as file:
        kernels = [Kernel(options.kernels, line) for line in file if line.strip() and not line.startswith("#")]
    good = check(kernels, options.check)
    compiled = None
    if not options.no_compile:
        try:
            compiled = torch.compile(lambda a, b, bias: F.gelu(F.linear(a, b, bias), approximate="tanh"), dynamic=False)
            compiled(*[x for i, x in enumerate(make_inputs(256, 256, 256)) if i != 2])
        except Exception as error:  # no compiler on this machine: the row is left out, and said so
            print(f"torch.compile: n/a ({type(error).__name__})")
            compiled = None
    for shape in options.shapes:
        time_shape(good, shape, options.rounds, compiled)
    sys.exit(0 if len(good) == len(kernels) else 1)


if __name__ == "__main__":
    main()
