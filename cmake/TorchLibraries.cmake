# The torch to build against or to link:
#   TORCH_REDUCE_TORCH_ERROR         why there is none, in one sentence; empty where there is one
#   TORCH_REDUCE_TORCH_PREFIX        folder that holds torch's include/ and lib/
#   TORCH_REDUCE_TORCH_VERSION       such as 2.11.0+cu130
#   TORCH_REDUCE_TORCH_CUDA          such as 13.0; empty for a CPU-only torch
#   TORCH_REDUCE_TORCH_CXX_STANDARD  what its headers need
# and the functions torch_reduce_add_torch and torch_reduce_keep.
# The build and the installed package both include this file.
#
# Not find_package(Torch): for a torch with CUDA it runs the retired FindCUDA, and configures only where the toolkit
# has cuBLAS, cuSPARSE and NVRTC, of which nothing is used here. It also links all of them. What is needed of torch is
# two include folders and four libraries, which have kept their places since torch 1.5.

set(TORCH_REDUCE_TORCH_ERROR "")
set(TORCH_REDUCE_TORCH_VERSION "")
set(_marker share/cmake/Torch/TorchConfig.cmake)
set(_hints "")
foreach(_prefix IN LISTS CMAKE_PREFIX_PATH)
  list(APPEND _hints "${_prefix}" "${_prefix}/../..")  # torch.utils.cmake_prefix_path names share/cmake
endforeach()
if(Torch_DIR)
  list(APPEND _hints "${Torch_DIR}/../../..")
endif()
# Beside an installed torch_reduce, as both lie in site-packages.
list(APPEND _hints "${CMAKE_CURRENT_LIST_DIR}/../../../../torch")

unset(_prefix)
if(TORCH_REDUCE_TORCH_DIR)
  set(_hints "${TORCH_REDUCE_TORCH_DIR}")
endif()
foreach(_hint IN LISTS _hints)
  if(EXISTS "${_hint}/${_marker}")
    set(_prefix "${_hint}")
    break()
  endif()
endforeach()
if(NOT _prefix AND NOT TORCH_REDUCE_TORCH_DIR)
  find_program(TORCH_REDUCE_PYTHON NAMES python3 python)
  if(TORCH_REDUCE_PYTHON)
    execute_process(
      COMMAND "${TORCH_REDUCE_PYTHON}" -c
              "import importlib.util as u; print(u.find_spec('torch').submodule_search_locations[0])"
      OUTPUT_VARIABLE _hint OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(EXISTS "${_hint}/${_marker}")
      set(_prefix "${_hint}")
    endif()
  endif()
endif()
if(NOT _prefix)
  set(TORCH_REDUCE_TORCH_ERROR "no torch found: name the folder that holds its include/ and lib/ by \
-DTORCH_REDUCE_TORCH_DIR=..., or run in a Python environment that has torch.")
  return()
endif()
get_filename_component(TORCH_REDUCE_TORCH_PREFIX "${_prefix}" ABSOLUTE)

# A Python package says its version in version.py, a LibTorch archive in build-version.
set(TORCH_REDUCE_TORCH_CUDA "")
if(EXISTS "${TORCH_REDUCE_TORCH_PREFIX}/version.py")
  file(READ "${TORCH_REDUCE_TORCH_PREFIX}/version.py" _text)
  string(REGEX MATCH "__version__ = '([^']+)'" _ "${_text}")
  set(TORCH_REDUCE_TORCH_VERSION "${CMAKE_MATCH_1}")
  if(_text MATCHES "cuda: Optional\\[str\\] = '([^']+)'")
    set(TORCH_REDUCE_TORCH_CUDA "${CMAKE_MATCH_1}")
  endif()
elseif(EXISTS "${TORCH_REDUCE_TORCH_PREFIX}/build-version")
  file(STRINGS "${TORCH_REDUCE_TORCH_PREFIX}/build-version" TORCH_REDUCE_TORCH_VERSION LIMIT_COUNT 1)
  if(TORCH_REDUCE_TORCH_VERSION MATCHES "\\+cu([0-9]+)([0-9])$")
    set(TORCH_REDUCE_TORCH_CUDA "${CMAKE_MATCH_1}.${CMAKE_MATCH_2}")
  endif()
endif()
if(NOT TORCH_REDUCE_TORCH_VERSION)
  set(TORCH_REDUCE_TORCH_ERROR "${TORCH_REDUCE_TORCH_PREFIX} does not say which version of torch it is.")
  return()
endif()

# A property of the target (CXX_STANDARD 20, as in torch 2.13) or a compile feature (cxx_std_20, as in 2.15).
set(TORCH_REDUCE_TORCH_CXX_STANDARD 17)
file(STRINGS "${TORCH_REDUCE_TORCH_PREFIX}/${_marker}" _text REGEX "(CXX_STANDARD |cxx_std_)[0-9]+")
if(_text MATCHES "(CXX_STANDARD |cxx_std_)([0-9]+)")
  set(TORCH_REDUCE_TORCH_CXX_STANDARD "${CMAKE_MATCH_2}")
endif()

# torch_reduce_add_torch(): the imported target TorchReduce::torch. Apart, so that a torch that does not fit leaves none.
function(torch_reduce_add_torch)
  if(TARGET TorchReduce::torch)
    return()
  endif()
  add_library(TorchReduce::torch INTERFACE IMPORTED)
  target_include_directories(
    TorchReduce::torch SYSTEM INTERFACE "${TORCH_REDUCE_TORCH_PREFIX}/include"
                                        "${TORCH_REDUCE_TORCH_PREFIX}/include/torch/csrc/api/include")
  target_compile_features(TorchReduce::torch INTERFACE "cxx_std_${TORCH_REDUCE_TORCH_CXX_STANDARD}")
  # Every supported torch has the new ABI; a compiler may still default to the old one.
  target_compile_definitions(TorchReduce::torch INTERFACE _GLIBCXX_USE_CXX11_ABI=1)
  target_link_libraries(TorchReduce::torch INTERFACE "${TORCH_REDUCE_TORCH_PREFIX}/lib/libtorch_cpu.so"
                                                     "${TORCH_REDUCE_TORCH_PREFIX}/lib/libc10.so")
endfunction()

# torch_reduce_keep(<target> <library> <cuda>): programs that link the target need the library, even where they refer to
# no symbol of it and their linker drops such libraries (--as-needed, the default of some distributions): operators are
# found by name, once the library that registers them is loaded. The same holds for torch's CUDA operators. And what the
# library needs of torch is found through the program's run path, so the program has to need it itself; libtorch.so is
# what AOTInductor's models need.
#
# Link options, and not items of the link line, as CMake may take those apart. The paths stand outside of -Wl, which would
# take them apart at a comma.
function(torch_reduce_keep target library cuda)
  set(_kept libtorch.so libtorch_cpu.so libc10.so)
  if(cuda)
    list(APPEND _kept libtorch_cuda.so libc10_cuda.so)
  endif()
  list(TRANSFORM _kept PREPEND "${TORCH_REDUCE_TORCH_PREFIX}/lib/")
  list(JOIN _kept "\" \"" _kept)
  set_property(
    TARGET ${target} APPEND
    PROPERTY INTERFACE_LINK_OPTIONS
             "SHELL:-Wl,--push-state,--no-as-needed \"${library}\" \"${_kept}\" -Wl,--pop-state")
endfunction()
