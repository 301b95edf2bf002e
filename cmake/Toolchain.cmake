# Flags that every target gets, and the tools that make the build fast.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_SCAN_FOR_MODULES OFF)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1 -fno-omit-frame-pointer")

# Everything Codetta compiles goes through this interface target.
add_library(codetta_flags INTERFACE)
target_compile_options(codetta_flags INTERFACE -Wall -Wextra -fno-semantic-interposition)
if(CODETTA_WERROR)
  target_compile_options(codetta_flags INTERFACE -Werror)
endif()
target_include_directories(codetta_flags INTERFACE $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}>)

# Bodies of inline functions stay private to each library. Out-of-line functions of namespace codetta keep default visibility and
# cmake/exports.map narrows the exports of the shared libraries to just those, so that headers need no export macro.
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)

if(CODETTA_SANITIZE)
  set(sanitize_flags -fsanitize=${CODETTA_SANITIZE} -fno-sanitize-recover=undefined)
  add_compile_options(${sanitize_flags})
  add_link_options(${sanitize_flags})
  if(CODETTA_SANITIZE MATCHES "undefined")
    # The static LLVM libraries carry no type information.
    add_compile_options(-fno-sanitize=vptr)
    add_link_options(-fno-sanitize=vptr)
  endif()
endif()
if(CODETTA_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

find_program(CODETTA_CCACHE ccache)
if(CODETTA_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CODETTA_CCACHE})
endif()

# lld-22 comes with the LLVM packages; mold is a second choice; else the compiler's own linker.
find_program(CODETTA_LLD ld.lld HINTS /usr/lib/llvm-22/bin NO_DEFAULT_PATH)
find_program(CODETTA_MOLD mold)
if(CODETTA_LLD)
  get_filename_component(lld_folder ${CODETTA_LLD} DIRECTORY)
  add_link_options(-B${lld_folder} -fuse-ld=lld)
elseif(CODETTA_MOLD)
  add_link_options(-fuse-ld=mold)
endif()
add_link_options(-Wl,--gc-sections)
add_compile_options(-ffunction-sections -fdata-sections)
# Two links at once are enough for memory and cores.
set_property(GLOBAL PROPERTY JOB_POOLS link=2)
set(CMAKE_JOB_POOL_LINK link)
