# libnccl.so.2 as programs for NCCL meet it: its symbols, its header beside NVIDIA's, and clients on
# memory of the host.

rondo_add_command_test(nccl_exported_symbols LABELS nccl_abi
  COMMAND ${CMAKE_COMMAND} -D NM=${CMAKE_NM} -D LIBRARY=$<TARGET_FILE:rondo_nccl> -D FUNCTIONS=41
    -P ${CMAKE_CURRENT_LIST_DIR}/exported_symbols.cmake)

rondo_add_test(nccl_environment_test LABELS unit nccl_abi
  SOURCES environment_test.cc
  LIBRARIES rondo_nccl_core rondo_static)

if(TARGET rondo_driver_double)
  rondo_add_test(nccl_device_test LABELS cuda_emulated nccl_abi
    SOURCES device_test.cc ${PROJECT_SOURCE_DIR}/tests/cuda/driver_double/device_image.cc
    LIBRARIES rondo_driver_double rondo_nccl_core rondo_static GTest::gmock)
endif()

# The same checks and clients with Rondo's header and, where it is installed, with NVIDIA's.
set(rondo_nccl_headers rondo)
set(rondo_nccl_rondo_folder ${PROJECT_SOURCE_DIR}/include/rondo/nccl)
find_path(RONDO_NVIDIA_NCCL_INCLUDE_DIR nccl.h
  HINTS ENV CUDA_PATH ENV CUDA_HOME PATHS /usr/local/cuda PATH_SUFFIXES include
  DOC "Where NVIDIA's nccl.h is, of the version that Rondo's stands for; tests compare the two")
mark_as_advanced(RONDO_NVIDIA_NCCL_INCLUDE_DIR)
if(RONDO_NVIDIA_NCCL_INCLUDE_DIR)
  file(STRINGS ${RONDO_NVIDIA_NCCL_INCLUDE_DIR}/nccl.h rondo_nvidia_nccl_version
    REGEX "^#define NCCL_VERSION_CODE 22809$")
  if(rondo_nvidia_nccl_version)
    list(APPEND rondo_nccl_headers nvidia)
    set(rondo_nccl_nvidia_folder ${RONDO_NVIDIA_NCCL_INCLUDE_DIR})
  endif()
endif()

find_package(Threads REQUIRED)
foreach(header IN LISTS rondo_nccl_headers)
  add_library(nccl_interface_check_${header} OBJECT ${CMAKE_CURRENT_LIST_DIR}/interface_check.c)
  add_executable(nccl_client_${header}
    ${CMAKE_CURRENT_LIST_DIR}/client.c
    ${CMAKE_CURRENT_LIST_DIR}/client_lifecycle.c
    ${CMAKE_CURRENT_LIST_DIR}/client_operations.c
    $<TARGET_OBJECTS:nccl_interface_check_${header}>)
  target_link_libraries(nccl_client_${header} PRIVATE rondo_nccl Threads::Threads)
  set_target_properties(nccl_client_${header} PROPERTIES UNITY_BUILD OFF)
  foreach(target IN ITEMS nccl_interface_check_${header} nccl_client_${header})
    target_link_libraries(${target} PRIVATE rondo_build_flags)
    target_include_directories(${target} SYSTEM BEFORE PRIVATE ${rondo_nccl_${header}_folder})
    target_compile_definitions(${target} PRIVATE _DEFAULT_SOURCE)
    set_target_properties(${target} PROPERTIES C_STANDARD 11)
  endforeach()
  foreach(mode IN ITEMS processes threads group abort nonblocking)
    foreach(ranks IN ITEMS 2 3 4)
      rondo_add_command_test(nccl_${mode}_${ranks}_${header} LABELS nccl_abi
        COMMAND nccl_client_${header} ${mode} ${ranks})
    endforeach()
  endforeach()
endforeach()

find_package(Python3 3.9 COMPONENTS Interpreter)
if(Python3_FOUND AND NOT RONDO_SANITIZE)   # a sanitizer's library would have to be loaded first
  foreach(check IN ITEMS processes variables errors)
    rondo_add_command_test(nccl_ctypes_${check} LABELS nccl_abi python
      COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/ctypes_test.py
        $<TARGET_FILE:rondo_nccl> ${check})
  endforeach()
endif()
