# How every kvist library, program and test is built: one place for warnings, sanitizers and labels.

add_library(kvist_build_flags INTERFACE)
target_include_directories(kvist_build_flags INTERFACE "${CMAKE_SOURCE_DIR}")
target_compile_options(kvist_build_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Woverloaded-virtual -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # gcc 12 sees uninitialised members in moved-from variants that hold none, and takes a designated
  # initialiser that leaves the other members at their defaults for a mistake.
  target_compile_options(kvist_build_flags INTERFACE -Wno-maybe-uninitialized -Wno-missing-field-initializers)
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  target_compile_options(kvist_build_flags INTERFACE -Wthread-safety -Wthread-safety-beta)
endif()

# The sanitizers cover generated code too, so they are set for the directory and not for our targets alone.
if(KVIST_SANITIZE)
  add_compile_options(-fsanitize=${KVIST_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all -O1)
  add_link_options(-fsanitize=${KVIST_SANITIZE})
endif()

# Fuzzers need clang's runtime beside AddressSanitizer, and our own code to report what it reaches.
if(KVIST_SANITIZE MATCHES "address" AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  set(KVIST_FUZZ ON)
endif()

# kvist_library(NAME SRCS a.cc... DEPS x...)
function(kvist_library name)
  cmake_parse_arguments(ARG "" "" "SRCS;DEPS" ${ARGN})
  add_library(${name} STATIC ${ARG_SRCS})
  target_link_libraries(${name} PUBLIC ${ARG_DEPS} PRIVATE kvist_build_flags)
  if(KVIST_FUZZ)
    target_compile_options(${name} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
  target_include_directories(${name} PUBLIC "${CMAKE_SOURCE_DIR}")
endfunction()

# kvist_executable(NAME SRCS a.cc... DEPS x...)
function(kvist_executable name)
  cmake_parse_arguments(ARG "" "" "SRCS;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SRCS})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} kvist_build_flags)
endfunction()

# kvist_test(NAME SRCS a.cc... DEPS x... [TIMEOUT seconds] [LABELS l...])
# A GoogleTest program, run as one ctest entry.
function(kvist_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SRCS;DEPS;LABELS" ${ARGN})
  kvist_executable(${name} SRCS ${ARG_SRCS} DEPS ${ARG_DEPS} GTest::gtest GTest::gmock GTest::gtest_main)
  add_test(NAME ${name} COMMAND ${name})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}")
endfunction()
