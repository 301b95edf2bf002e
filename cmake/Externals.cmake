# Third-party libraries, all from Debian packages (nanobind from PyPI). Each is an interface target of its own, so that a room says what it uses.

find_package(Threads REQUIRED)

# fmt: headers from Debian, its compiled half from cmake/fmt.cpp (see there).
find_package(fmt 9 REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
add_library(codetta_fmt STATIC ${CMAKE_CURRENT_LIST_DIR}/fmt.cpp)
get_target_property(fmt_include_folder fmt::fmt INTERFACE_INCLUDE_DIRECTORIES)
target_include_directories(codetta_fmt SYSTEM PUBLIC $<BUILD_INTERFACE:${fmt_include_folder}>)

# spdlog (header-only) and xxhash lie in /usr/include; define XXH_INLINE_ALL where xxhash is included.
add_library(codetta_externals INTERFACE)
target_link_libraries(codetta_externals INTERFACE codetta_fmt nlohmann_json::nlohmann_json Threads::Threads ${CMAKE_DL_LIBS})
target_compile_definitions(codetta_externals INTERFACE SPDLOG_FMT_EXTERNAL)

# LLVM 22, static. Only the room codegen sees its headers and links it.
set(CODETTA_LLVM_ROOT /usr/lib/llvm-22 CACHE PATH "Where LLVM 22 is installed")
set(CODETTA_LLVM_COMPONENTS core support passes x86codegen x86asmparser x86desc x86info nvptxcodegen nvptxdesc nvptxinfo
    target targetparser mc object analysis ipo instcombine scalaropts vectorize transformutils bitwriter irreader asmparser)
find_package(LLVM 22.1 CONFIG PATHS ${CODETTA_LLVM_ROOT} NO_DEFAULT_PATH)
add_library(codetta_llvm INTERFACE)
if(LLVM_FOUND)
  # A wheel may need libz, but not libzstd: take the archive.
  if(TARGET zstd::libzstd_shared AND TARGET zstd::libzstd_static)
    get_target_property(zstd_archive zstd::libzstd_static IMPORTED_LOCATION)
    set_target_properties(zstd::libzstd_shared PROPERTIES IMPORTED_LOCATION ${zstd_archive})
  endif()
  llvm_map_components_to_libnames(codetta_llvm_libraries ${CODETTA_LLVM_COMPONENTS})
  target_include_directories(codetta_llvm SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
  target_link_libraries(codetta_llvm INTERFACE ${codetta_llvm_libraries})
  target_compile_options(codetta_llvm INTERFACE -Wno-unused-parameter)
else()
  message(STATUS "LLVM 22 not found under ${CODETTA_LLVM_ROOT}: the room codegen will not build (apt-get install llvm-22-dev)")
endif()
