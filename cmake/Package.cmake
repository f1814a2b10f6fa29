# What is installed: the layout of the Python package, which is a prefix for find_package(TorchReduce) too.

# What was built, for the library itself and, as a file that is read before loading, for Python.
string(REPLACE ";" " " _architectures "${TORCH_REDUCE_ARCHITECTURES}")
set_property(
  SOURCE csrc/torch/explain/build_info.cpp
  PROPERTY COMPILE_DEFINITIONS
           "TORCH_REDUCE_BUILD_TORCH=\"${TORCH_REDUCE_TORCH_VERSION}\""
           "TORCH_REDUCE_BUILD_CUDA=\"${TORCH_REDUCE_CUDA_VERSION}\""
           "TORCH_REDUCE_BUILD_ARCHITECTURES=\"${_architectures}\"")
if(TORCH_REDUCE_WITH_CUDA)
  string(REPLACE ";" "\", \"" _list "[\"${TORCH_REDUCE_ARCHITECTURES}\"]")
  set(_cuda_version "\"${TORCH_REDUCE_CUDA_VERSION}\"")
else()
  set(_list "[]")
  set(_cuda_version null)
endif()
# The version of the package, by PEP 440: what it was built for is the local part, as wheels of a release differ in it.
# setup.py reads it from the file, for the metadata.
string(REGEX REPLACE "\\+.*" "" _release "${TORCH_REDUCE_TORCH_VERSION}")
string(REPLACE "." "" _device "cu${TORCH_REDUCE_CUDA_VERSION}")
if(NOT TORCH_REDUCE_WITH_CUDA)
  set(_device cpu)
endif()
set(_built "${PROJECT_VERSION}+torch${_release}.${_device}")
file(CONFIGURE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/build.json" @ONLY CONTENT
     [[{"version": "@_built@", "torch": "@TORCH_REDUCE_TORCH_VERSION@", "cuda": @_cuda_version@, "architectures": @_list@}
]])

include(CMakePackageConfigHelpers)
set(_package lib/cmake/TorchReduce)
set(_version_file "${CMAKE_CURRENT_BINARY_DIR}/TorchReduceConfigVersion.cmake")
write_basic_package_version_file("${_version_file}" COMPATIBILITY SameMinorVersion)
configure_file(cmake/TorchReduceConfig.cmake.in TorchReduceConfig.cmake @ONLY)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/TorchReduceConfig.cmake" "${_version_file}" DESTINATION ${_package})
install(DIRECTORY include/torch_reduce DESTINATION include)
install(TARGETS torch_reduce_core LIBRARY DESTINATION lib)
if(NOT TORCH_REDUCE_CORE_ONLY)
  install(TARGETS torch_reduce ${TORCH_REDUCE_PYTHON_MODULE} LIBRARY DESTINATION lib)
  install(FILES cmake/TorchLibraries.cmake "${CMAKE_CURRENT_BINARY_DIR}/build.json" DESTINATION ${_package})
endif()
