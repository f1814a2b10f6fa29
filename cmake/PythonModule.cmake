# lib/fast_calls.abi3.so, through which Python calls the operators (csrc/python): one for every CPython from 3.10 on. It is
# optional: without it the functions of the package are Python throughout. So it is left out where Python's headers are
# not installed, or torch has no Python, as a LibTorch archive.
#   TORCH_REDUCE_PYTHON_MODULE  the target, or empty

set(TORCH_REDUCE_PYTHON_MODULE "")
find_package(Python 3.10 QUIET COMPONENTS Interpreter Development.Module)
set(_torch_python "${TORCH_REDUCE_TORCH_PREFIX}/lib/libtorch_python.so")
if(NOT Python_Development.Module_FOUND)
  message(STATUS "torch_reduce: no headers of a Python >= 3.10, so calls from Python stay as slow as Python is")
elseif(EXISTS "${_torch_python}")
  set(TORCH_REDUCE_PYTHON_MODULE torch_reduce_python)
  file(GLOB _python CONFIGURE_DEPENDS csrc/python/*.cpp)
  add_library(torch_reduce_python MODULE ${_python})
  target_compile_definitions(torch_reduce_python PRIVATE Py_LIMITED_API=0x030A0000)
  target_compile_options(torch_reduce_python PRIVATE ${TORCH_REDUCE_CXX_FLAGS})
  target_include_directories(torch_reduce_python PRIVATE ${TORCH_REDUCE_INCLUDES})
  target_include_directories(torch_reduce_python SYSTEM PRIVATE ${Python_INCLUDE_DIRS})
  # By its file: a program needs more than the library itself of the target (torch_reduce_keep).
  add_dependencies(torch_reduce_python torch_reduce)
  target_link_libraries(torch_reduce_python PRIVATE "$<TARGET_FILE:torch_reduce>" "${_torch_python}" TorchReduce::torch)
  target_link_options(torch_reduce_python PRIVATE $<$<CONFIG:Release>:-s>)
  set_target_properties(
    torch_reduce_python
    PROPERTIES PREFIX "" OUTPUT_NAME fast_calls SUFFIX .abi3.so SKIP_BUILD_RPATH OFF BUILD_WITH_INSTALL_RPATH ON
               INSTALL_RPATH "$ORIGIN")
endif()
