# Installs the rooms as libraries with the namespace shardcheck::, their headers, and the command. An outside project
# says find_package(shardcheck REQUIRED) and links shardcheck::core; tests/consumer is one.
# The config file finds again what the exported targets link, which is read off the targets below.
include(CMakePackageConfigHelpers)

# The rooms that exist, and the libraries of ours that they are made of.
set(pending shardcheck_core shardcheck_backends shardcheck_sim shardcheck_properties)
set(exported "")
set(libraries "")
while(pending)
  list(POP_FRONT pending target)
  if(NOT TARGET ${target} OR target IN_LIST exported)
    continue()
  endif()
  list(APPEND exported ${target})
  # For a static library the interface holds the private links too, as $<LINK_ONLY:...>.
  get_target_property(links ${target} INTERFACE_LINK_LIBRARIES)
  if(NOT links)
    continue()
  endif()
  list(APPEND libraries ${links})
  # A library of ours goes by its target or by its alias; what stands in $<BUILD_INTERFACE:...> stays at home.
  foreach(link IN LISTS links)
    string(REGEX REPLACE "^\\$<LINK_ONLY:(.*)>$" "\\1" link "${link}")
    string(REPLACE "shardcheck::" "shardcheck_" link "${link}")
    if(link MATCHES "^shardcheck_" AND NOT link STREQUAL shardcheck_options)
      list(APPEND pending ${link})
    endif()
  endforeach()
endwhile()

# How a linked library is found again: a pattern for its target, and the arguments of find_dependency.
set(dependencies
  "fmt::"           "fmt"
  "nlohmann_json::" "nlohmann_json"
  "Eigen3::"        "Eigen3 3.4 NO_MODULE"
  "rapidcheck"      "rapidcheck"
  "Threads::"       "Threads"
  "CUDA::"          "CUDAToolkit"
  "MPI::"           "MPI"
  "hwy"             "hwy")
set(SHARDCHECK_FIND_DEPENDENCIES "")
while(dependencies)
  list(POP_FRONT dependencies pattern arguments)
  if("${libraries}" MATCHES "${pattern}")
    string(APPEND SHARDCHECK_FIND_DEPENDENCIES "find_dependency(${arguments})\n")
  endif()
endwhile()

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/shardcheck)
install(TARGETS ${exported} EXPORT shardcheck ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT shardcheck NAMESPACE shardcheck:: FILE shardcheckTargets.cmake DESTINATION ${package_folder})
install(DIRECTORY core backends sim properties DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/shardcheck
        FILES_MATCHING PATTERN "*.h")
if(TARGET shardcheck)
  install(TARGETS shardcheck RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/shardcheckConfig.cmake.in
  ${PROJECT_BINARY_DIR}/shardcheckConfig.cmake INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/shardcheckConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/shardcheckConfig.cmake ${PROJECT_BINARY_DIR}/shardcheckConfigVersion.cmake
        DESTINATION ${package_folder})
