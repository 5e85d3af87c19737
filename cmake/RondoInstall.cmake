# What `cmake --install` puts where: headers, both libraries, the command, and the files by which
# CMake and pkg-config find them. All of it can be moved to another prefix afterwards.

include(CMakePackageConfigHelpers)

set(rondo_cmake_folder ${CMAKE_INSTALL_LIBDIR}/cmake/rondo)

# Both libraries carry nothing of the build in their interface: only the headers' folder.
install(TARGETS rondo rondo_static EXPORT rondoTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT development
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
set_target_properties(rondo_train PROPERTIES EXPORT_NAME train)
install(TARGETS rondo_train EXPORT rondoTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT rondoTargets NAMESPACE rondo::
  DESTINATION ${rondo_cmake_folder} COMPONENT development)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/rondo
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development
  FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")

# The command finds the library beside it, wherever the prefix is.
file(RELATIVE_PATH rondo_bin_to_lib ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
set_target_properties(rondo_cli PROPERTIES
  RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin
  INSTALL_RPATH "$ORIGIN/${rondo_bin_to_lib}")
install(TARGETS rondo_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT runtime)

# In a folder of its own, so that only programs that ask for it get it in NVIDIA's stead.
if(RONDO_NCCL)
  install(TARGETS rondo_nccl
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/rondo COMPONENT runtime
      NAMELINK_COMPONENT development)
endif()

configure_package_config_file(
  ${CMAKE_CURRENT_LIST_DIR}/rondoConfig.cmake.in ${PROJECT_BINARY_DIR}/rondoConfig.cmake
  INSTALL_DESTINATION ${rondo_cmake_folder})
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/rondoConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/rondoConfig.cmake ${PROJECT_BINARY_DIR}/rondoConfigVersion.cmake
  DESTINATION ${rondo_cmake_folder} COMPONENT development)

file(RELATIVE_PATH RONDO_PC_PREFIX
  ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
file(RELATIVE_PATH RONDO_PC_INCLUDEDIR ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
file(RELATIVE_PATH RONDO_PC_LIBDIR ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_LIBDIR})
configure_file(${CMAKE_CURRENT_LIST_DIR}/rondo.pc.in ${PROJECT_BINARY_DIR}/rondo.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/rondo.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
