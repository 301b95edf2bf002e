# cmake --install and the wheel carry the same: libraries, headers, a CMake package config, the program.
# In a wheel (SKBUILD is set by scikit-build-core) everything lies below codetta/, beside the Python module.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

if(SKBUILD)
  set(library_folder codetta)
  set(header_folder codetta/include)
  set(config_folder codetta/share/cmake/codetta)
  set(program_folder codetta/bin)
  set(program_rpath "$ORIGIN/..")
else()
  set(library_folder ${CMAKE_INSTALL_LIBDIR})
  set(header_folder ${CMAKE_INSTALL_INCLUDEDIR})
  set(config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/codetta)
  set(program_folder ${CMAKE_INSTALL_BINDIR})
  set(program_rpath "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
endif()

install(TARGETS libcodetta_runtime libcodetta EXPORT codetta_targets LIBRARY DESTINATION ${library_folder} INCLUDES DESTINATION ${header_folder})
if(TARGET codetta)
  set_target_properties(codetta PROPERTIES INSTALL_RPATH "${program_rpath}")
  install(TARGETS codetta RUNTIME DESTINATION ${program_folder})
endif()
if(TARGET _codetta AND SKBUILD)
  install(TARGETS _codetta LIBRARY DESTINATION codetta)
endif()

# All headers, but those of the program and those that need LLVM's.
file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/codetta/*.h)
list(FILTER headers EXCLUDE REGEX "^codetta/cli/|_for_test\\.h$")
foreach(header ${headers})
  file(STRINGS ${CMAKE_SOURCE_DIR}/${header} llvm_includes REGEX "#include [<\"]llvm")
  if(NOT llvm_includes)
    get_filename_component(folder ${header} DIRECTORY)
    install(FILES ${CMAKE_SOURCE_DIR}/${header} DESTINATION ${header_folder}/${folder})
  endif()
endforeach()
install(EXPORT codetta_targets NAMESPACE codetta:: DESTINATION ${config_folder})
configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/codettaConfig.cmake.in ${CMAKE_BINARY_DIR}/codettaConfig.cmake
  INSTALL_DESTINATION ${config_folder})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/codettaConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/codettaConfig.cmake ${CMAKE_BINARY_DIR}/codettaConfigVersion.cmake DESTINATION ${config_folder})
