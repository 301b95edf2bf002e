# What is shipped: libcodetta_runtime.so, libcodetta.so, the program codetta, the Python module _codetta.

set(CODETTA_LIBRARY_FOLDER ${CMAKE_BINARY_DIR}/python/codetta)    # beside the Python module, as in the wheel
set(export_flags -Wl,--exclude-libs,ALL -Wl,--version-script=${CMAKE_SOURCE_DIR}/cmake/exports.map -Wl,-Bsymbolic-functions)
if(NOT CODETTA_SANITIZE)    # a sanitizer's symbols come with the program
  list(APPEND export_flags -Wl,-z,defs)    # what a library lacks is an error when it is linked, not when somebody imports it
endif()

# codetta_add_shared(target room...): a shared library of those rooms that have sources.
function(codetta_add_shared target)
  set(objects "")
  foreach(room ${ARGN})
    if(TARGET codetta_${room}_objects)
      list(APPEND objects $<TARGET_OBJECTS:codetta_${room}_objects>)
    endif()
  endforeach()
  if(NOT objects)
    file(WRITE ${CMAKE_BINARY_DIR}/empty.cpp "")
    set(objects ${CMAKE_BINARY_DIR}/empty.cpp)
  endif()
  add_library(${target} SHARED ${objects})
  # Users of the installed package take fmt's headers from their own system (cmake/codettaConfig.cmake.in).
  target_link_libraries(${target} PUBLIC $<BUILD_INTERFACE:codetta_externals> $<INSTALL_INTERFACE:fmt::fmt-header-only>)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}>)
  target_link_options(${target} PRIVATE ${export_flags})
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/exports.map)
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX BUILD_RPATH "$ORIGIN" BUILD_RPATH_USE_ORIGIN ON INSTALL_RPATH "$ORIGIN"
    LIBRARY_OUTPUT_DIRECTORY ${CODETTA_LIBRARY_FOLDER})
endfunction()

set(compiler_rooms ${CODETTA_ROOMS})
list(REMOVE_ITEM compiler_rooms ${CODETTA_RUNTIME_ROOMS} cli)

codetta_add_shared(libcodetta_runtime ${CODETTA_RUNTIME_ROOMS})
set_target_properties(libcodetta_runtime PROPERTIES OUTPUT_NAME codetta_runtime EXPORT_NAME runtime)
codetta_add_shared(libcodetta ${compiler_rooms})
set_target_properties(libcodetta PROPERTIES OUTPUT_NAME codetta EXPORT_NAME codetta)
target_link_libraries(libcodetta PUBLIC libcodetta_runtime)
if(TARGET codetta_codegen_objects)
  target_link_libraries(libcodetta PRIVATE $<BUILD_INTERFACE:codetta_llvm>)
endif()
add_library(codetta::runtime ALIAS libcodetta_runtime)
add_library(codetta::codetta ALIAS libcodetta)

# The program. codetta/cli/main.cpp holds main(); the rest of the room is a library, so that its tests can link it.
if(EXISTS ${CMAKE_SOURCE_DIR}/codetta/cli/main.cpp)
  add_executable(codetta ${CMAKE_SOURCE_DIR}/codetta/cli/main.cpp)
  if(TARGET codetta_cli_objects)
    target_sources(codetta PRIVATE $<TARGET_OBJECTS:codetta_cli_objects>)
  endif()
  target_link_libraries(codetta PRIVATE codetta_flags libcodetta)
  set_target_properties(codetta PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
endif()

# build/<preset>/python is an importable copy of the package (links to python/codetta, and what pip would record about it, entry points
# included), so that no wheel is needed while developing: PYTHONPATH=build/release/python python ...
file(GLOB package_entries CONFIGURE_DEPENDS LIST_DIRECTORIES true ${CMAKE_SOURCE_DIR}/python/codetta/*)
file(GLOB old_links ${CODETTA_LIBRARY_FOLDER}/*)
foreach(link ${old_links})
  if(IS_SYMLINK ${link})
    file(REMOVE ${link})
  endif()
endforeach()
file(MAKE_DIRECTORY ${CODETTA_LIBRARY_FOLDER})
foreach(entry ${package_entries})
  get_filename_component(name ${entry} NAME)
  if(NOT name STREQUAL "__pycache__")
    file(CREATE_LINK ${entry} ${CODETTA_LIBRARY_FOLDER}/${name} SYMBOLIC)
  endif()
endforeach()
set(record_folder ${CMAKE_BINARY_DIR}/python/codetta-${PROJECT_VERSION}.dist-info)
file(WRITE ${record_folder}/METADATA "Metadata-Version: 2.1\nName: codetta\nVersion: ${PROJECT_VERSION}\n")
file(WRITE ${record_folder}/INSTALLER "cmake\n")
configure_file(${CMAKE_SOURCE_DIR}/cmake/entry_points.txt ${record_folder}/entry_points.txt COPYONLY)

# The Python module, one small file per room in python/bind.
file(GLOB bind_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/python/bind/*.cpp)
if(CODETTA_PYTHON AND bind_sources)
  find_package(Python 3.10 COMPONENTS Interpreter Development.Module REQUIRED)
  execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir OUTPUT_VARIABLE nanobind_folder OUTPUT_STRIP_TRAILING_WHITESPACE
    RESULT_VARIABLE nanobind_missing ERROR_QUIET)
  if(nanobind_missing)
    message(STATUS "nanobind is not in ${Python_EXECUTABLE}: the Python module is left out (./dev build makes an environment that has it)")
  else()
    find_package(nanobind CONFIG REQUIRED PATHS ${nanobind_folder} NO_DEFAULT_PATH)
    nanobind_add_module(_codetta BACKEND_MODULE nanobind_backend ${bind_sources})
    target_link_libraries(_codetta PRIVATE codetta_flags libcodetta)
    target_link_options(_codetta PRIVATE -Wl,--version-script=${CMAKE_SOURCE_DIR}/cmake/module.map)
    set_target_properties(_codetta PROPERTIES BUILD_RPATH "$ORIGIN" BUILD_RPATH_USE_ORIGIN ON INSTALL_RPATH "$ORIGIN"
      LIBRARY_OUTPUT_DIRECTORY ${CODETTA_LIBRARY_FOLDER})
  endif()
endif()
