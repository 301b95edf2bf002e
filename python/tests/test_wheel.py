"""The wheel that users get: what it holds, what it exports, and that it works in an environment of its own."""

import configparser
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import textwrap
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
OLDEST_GLIBC_MINOR = 34  # what Debian 12's toolchain can serve; 2.36 and its arc4random are not needed
NEIGHBOURS = Path(sys.prefix) / "neighbours"


def run(command, **options) -> str:
    """The output of a command that must succeed."""
    answer = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    assert answer.returncode == 0, f"{command} ended with {answer.returncode}\n{answer.stdout[-3000:]}\n{answer.stderr[-6000:]}"
    return answer.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run([ROOT / "dev", "wheel", "--output", folder], cwd=ROOT)
    (made,) = folder.glob("codetta-*.whl")
    return made


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Path:
    """A fresh environment with the wheel in it; torch and nanobind-backend come from the environment that runs the tests."""
    folder = tmp_path_factory.mktemp("environment")
    run([sys.executable, "-m", "venv", folder])
    python = folder / "bin" / "python"
    # Without PYTHONPATH: the build folder's record of codetta would count as installed already.
    run([python, "-m", "pip", "install", "--no-index", "--no-deps", wheel], env=clean_environment())
    site = Path(run([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]).strip())
    others = folder / "others"
    others.mkdir()
    for entry in Path(sysconfig.get_path("purelib")).iterdir():  # all but the development copy of codetta
        if not entry.name.startswith("codetta"):
            (others / entry.name).symlink_to(entry)
    (site / "others.pth").write_text(f"{others}\n")
    return python


def clean_environment(**more) -> dict:
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | more


def run_python(python: Path, code: str, **more) -> str:
    return run([python, "-c", textwrap.dedent(code)], env=clean_environment(**more), cwd="/")


def test_one_wheel_serves_every_python_from_3_10(wheel):
    found = re.fullmatch(r"codetta-[\d.]+-cp310-abi3-manylinux_2_(\d+)_x86_64\.whl", wheel.name)
    assert found and int(found[1]) <= OLDEST_GLIBC_MINOR, wheel.name


def test_wheel_holds_libraries_headers_config_and_program(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    for name in ("codetta/libcodetta.so", "codetta/libcodetta_runtime.so", "codetta/_codetta.abi3.so", "codetta/bin/codetta",
                 "codetta/include/codetta/codetta.h", "codetta/share/cmake/codetta/codettaConfig.cmake", "codetta/backend.py"):
        assert name in names
    assert not [name for name in names if "_test" in name or name.endswith((".cpp", ".a"))]


def test_wheel_never_asks_for_torch(wheel):
    archive = zipfile.ZipFile(wheel)
    (metadata,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
    requires = [line for line in archive.read(metadata).decode().splitlines() if line.startswith("Requires-Dist")]
    assert requires == ["Requires-Dist: nanobind-backend==1.0.0"]


def test_build_folder_has_the_entry_points_of_the_wheel(wheel):
    archive = zipfile.ZipFile(wheel)
    (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/entry_points.txt")]
    in_wheel, in_tree = configparser.ConfigParser(), configparser.ConfigParser()
    in_wheel.read_string(archive.read(name).decode())
    in_tree.read_string((ROOT / "cmake/entry_points.txt").read_text())
    as_dict = [{section: dict(parser[section]) for section in parser.sections()} for parser in (in_wheel, in_tree)]
    assert as_dict[0] == as_dict[1]


def exported_symbols(library: Path) -> list[str]:
    return [line.split()[-1] for line in run(["nm", "-D", "--defined-only", library]).splitlines()]


def needed_symbol_versions(library: Path, prefix: str) -> set[tuple[int, ...]]:
    names = re.findall(prefix + r"_([\d.]+)", run(["nm", "-D", "--undefined-only", library]))
    return {tuple(int(part) for part in name.split(".")) for name in names}


def package_folder(python: Path) -> Path:
    return Path(run_python(python, "import codetta, os; print(os.path.dirname(codetta.__file__))").strip())


@pytest.mark.parametrize("name", ["libcodetta.so", "libcodetta_runtime.so"])
def test_only_codettas_own_symbols_are_exported(installed, name):
    symbols = exported_symbols(package_folder(installed) / name)
    assert symbols, "nothing is exported"
    foreign = [symbol for symbol in symbols if not re.match(r"_ZNK?[OR]?7codetta|_ZT[VIST]N7codetta|_ZThn\d+_N7codetta|codetta_", symbol)]
    assert foreign == []


@pytest.mark.parametrize("name", ["libcodetta.so", "libcodetta_runtime.so", "_codetta.abi3.so", "bin/codetta"])
def test_runs_on_glibc_2_34(installed, name):
    assert max(needed_symbol_versions(package_folder(installed) / name, "GLIBC")) <= (2, OLDEST_GLIBC_MINOR)
    assert max(needed_symbol_versions(package_folder(installed) / name, "GLIBCXX"), default=(0,)) <= (3, 4, 29)


def test_module_exports_its_init_function_alone(installed):
    assert exported_symbols(package_folder(installed) / "_codetta.abi3.so") == ["PyInit__codetta"]


def test_runtime_library_needs_neither_llvm_nor_compiler(installed):
    needed = re.findall(r"NEEDED.*\[(.*)\]", run(["readelf", "-d", package_folder(installed) / "libcodetta_runtime.so"]))
    assert [name for name in needed if "codetta" in name or "LLVM" in name or "python" in name] == []


def test_package_does_not_import_torch(installed):
    assert run_python(installed, "import sys, codetta, codetta._codetta; print('torch' in sys.modules)").strip() == "False"


def test_torch_compile_needs_no_import_of_codetta(installed):
    out = run_python(installed, """
        import torch
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(48, 64), torch.nn.GELU(), torch.nn.Linear(64, 40)).eval()
        x = torch.randn(5, 48)
        with torch.no_grad():
            ours = torch.compile(model, backend="codetta")(x)
            print((ours - model(x)).abs().max().item() < 1e-5)
        import codetta
        print(codetta.__file__)
    """)
    agreed, where = out.split()
    assert agreed == "True"
    assert where.startswith(str(installed.parents[1]))


def test_console_script_runs_the_native_program(installed):
    assert "doctor" in run([installed.parent / "codetta", "--help"], env=clean_environment())


def test_lives_beside_other_compilers_in_one_process(installed):
    """triton, numba and onnx carry LLVM and protobuf of their own."""
    present = [name for name in ("triton", "numba", "onnx") if (NEIGHBOURS / name).is_dir()]
    if not present:
        pytest.skip("none of triton, numba, onnx in .venv/neighbours (./dev test puts them there)")
    for order in (present + ["codetta"], ["codetta"] + present):
        out = run_python(installed, f"""
            import importlib, sys
            sys.path.append({str(NEIGHBOURS)!r})
            for name in {order!r}:
                importlib.import_module("codetta._codetta" if name == "codetta" else name)
            import torch
            model = torch.nn.Linear(32, 24)
            x = torch.randn(3, 32)
            with torch.no_grad():
                print("codetta", (torch.compile(model, backend="codetta")(x) - model(x)).abs().max().item() < 1e-5)
            if "numba" in sys.modules:
                import numba
                print("numba", numba.njit(lambda n: n * 3 + 1)(4) == 13)
            if "onnx" in sys.modules:
                import onnx.helper
                print("onnx", len(onnx.helper.make_model(onnx.helper.make_graph([], "g", [], [])).SerializeToString()) > 0)
        """)
        assert "False" not in out and out.count("True") >= 1, out


def test_cpp_examples_build_against_the_wheel(installed, tmp_path):
    if shutil.which("cmake") is None:
        pytest.skip("no cmake")
    examples = sorted((ROOT / "examples").glob("*.cpp"))
    assert examples
    targets = "".join(f"add_executable({file.stem} {file})\ntarget_link_libraries({file.stem} PRIVATE codetta::codetta)\n" for file in examples)
    (tmp_path / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.25)\nproject(user LANGUAGES CXX)\n"
                                             f"find_package(codetta REQUIRED)\n{targets}")
    config = package_folder(installed) / "share" / "cmake" / "codetta"
    run(["cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-Dcodetta_DIR={config}"])
    run(["cmake", "--build", tmp_path / "build"])
    for file in examples:
        run([tmp_path / "build" / file.stem])
