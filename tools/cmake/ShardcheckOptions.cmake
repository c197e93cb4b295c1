# shardcheck_room(NAME): a room of the house, which is a static library target shardcheck_NAME with the alias
# shardcheck::NAME. The compile options below hold for every target that links one.

add_library(shardcheck_options INTERFACE)
# No contraction: a fused multiply-add where the source has two roundings changes bits.
target_compile_options(shardcheck_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wno-missing-field-initializers -ffp-contract=off>)
# At -O3 GCC 12 sees std::string write past its end where it does not.
target_compile_options(shardcheck_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread>)
if(SHARDCHECK_WERROR)
  target_compile_options(shardcheck_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()
if(SHARDCHECK_NATIVE)
  target_compile_options(shardcheck_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-march=native>)
endif()
if(SHARDCHECK_SANITIZE)
  target_compile_options(shardcheck_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${SHARDCHECK_SANITIZE} -fno-omit-frame-pointer>)
  target_link_options(shardcheck_options INTERFACE -fsanitize=${SHARDCHECK_SANITIZE})
endif()

# shardcheck_precompile(TARGET HEADERS...): these and the standard headers are parsed once for all of its files.
# Files must still include what they use: the dev preset builds without.
function(shardcheck_precompile target)
  if(NOT SHARDCHECK_PRECOMPILE)
    return()
  endif()
  set(standard algorithm array bit cmath cstdint cstring functional map memory optional set span string string_view
               utility variant vector)
  foreach(header ${standard} ${ARGN})
    target_precompile_headers(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:<${header}$<ANGLE-R>>")
  endforeach()
endfunction()

function(shardcheck_room name)
  add_library(shardcheck_${name} STATIC)
  add_library(shardcheck::${name} ALIAS shardcheck_${name})
  set_target_properties(shardcheck_${name} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(shardcheck_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/shardcheck>)
  target_link_libraries(shardcheck_${name} PRIVATE $<BUILD_INTERFACE:shardcheck_options>)
  target_compile_features(shardcheck_${name} PUBLIC cxx_std_20)
  shardcheck_precompile(shardcheck_${name} fmt/format.h fmt/ranges.h)
endfunction()
