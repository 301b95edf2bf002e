# codetta_add_tests(stem files link...): executables <stem>_test (label host), <stem>_slow_test (slow), <stem>_perf_test (perf) and
# <stem>_gpu_test (gpu) from the files, sorted by their suffix. Tests run in the source folder, where goldens lie.

if(CODETTA_TESTS)
  find_package(GTest REQUIRED)
endif()

function(codetta_add_tests stem files)
  set(rest ${files})
  foreach(label slow perf gpu)
    set(labelled ${files})
    list(FILTER labelled INCLUDE REGEX "_${label}_test\\.cpp$")
    list(FILTER rest EXCLUDE REGEX "_${label}_test\\.cpp$")
    codetta_add_test(${stem}_${label}_test ${label} "${labelled}" ${ARGN})
  endforeach()
  codetta_add_test(${stem}_test host "${rest}" ${ARGN})
endfunction()

function(codetta_add_test name label files)
  if(NOT files)
    return()
  endif()
  add_executable(${name} ${files})
  target_link_libraries(${name} PRIVATE codetta_flags codetta_externals ${ARGN} GTest::gtest GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE CODETTA_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES LABELS ${label} TIMEOUT 900
    ENVIRONMENT "ASAN_OPTIONS=detect_container_overflow=0:detect_leaks=1;UBSAN_OPTIONS=print_stacktrace=1")
endfunction()
