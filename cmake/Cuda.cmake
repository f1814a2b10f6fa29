# Decides whether the CUDA part is built, says so in one line, and sets the compiler up:
#   TORCH_REDUCE_WITH_CUDA      ON or OFF
#   TORCH_REDUCE_CUDA_VERSION   such as 13.0, nvcc's; empty without
#   TORCH_REDUCE_ARCHITECTURES  such as 90-real
#
# torch (but for TORCH_REDUCE_CORE_ONLY) and nvcc decide, never a visible GPU. TORCH_REDUCE_CUDA=0 builds without, =1 makes it an error if CUDA cannot be
# built.

include(Architectures)

set(TORCH_REDUCE_WITH_CUDA OFF)
set(TORCH_REDUCE_CUDA_VERSION "")
set(TORCH_REDUCE_ARCHITECTURES "")
set(_oldest 12.6)
set(_reason "")

# A PATH nvcc may be a script around the real one, so its folder says nothing; CMake asks nvcc itself for its toolkit.
find_program(TORCH_REDUCE_NVCC nvcc HINTS "$ENV{CUDACXX}" "$ENV{CUDA_HOME}/bin" "$ENV{CUDA_PATH}/bin"
             PATHS /usr/local/cuda/bin)
if(TORCH_REDUCE_NVCC)
  execute_process(COMMAND "${TORCH_REDUCE_NVCC}" --version OUTPUT_VARIABLE _text ERROR_QUIET)
  string(REGEX MATCH "release ([0-9]+\\.[0-9]+)" _ "${_text}")
  set(_nvcc_version "${CMAKE_MATCH_1}")
endif()
string(REGEX MATCH "^[0-9]+" _torch_major "${TORCH_REDUCE_TORCH_CUDA}")
string(REGEX MATCH "^[0-9]+" _nvcc_major "${_nvcc_version}")

if("$ENV{TORCH_REDUCE_CUDA}" STREQUAL "0")
  set(_reason "TORCH_REDUCE_CUDA=0")
elseif(TORCH_REDUCE_SANITIZE)
  set(_reason "a sanitizer build has the CPU part alone")
elseif(NOT TORCH_REDUCE_TORCH_CUDA AND NOT TORCH_REDUCE_CORE_ONLY)
  set(_reason "this torch has none")
elseif(NOT TORCH_REDUCE_NVCC)
  set(_reason "no nvcc found")
elseif(NOT _nvcc_version)
  set(_reason "${TORCH_REDUCE_NVCC} does not run")
elseif(_nvcc_version VERSION_LESS _oldest)
  set(_reason "nvcc ${_nvcc_version} is older than ${_oldest}")
elseif(NOT _nvcc_major STREQUAL _torch_major AND NOT TORCH_REDUCE_CORE_ONLY)
  set(_reason "nvcc ${_nvcc_version} does not fit a torch for CUDA ${TORCH_REDUCE_TORCH_CUDA}")
endif()

set(_torch "torch ${TORCH_REDUCE_TORCH_VERSION}")
if(TORCH_REDUCE_CORE_ONLY)
  set(_torch "programs without torch")
endif()
if(_reason)
  if("$ENV{TORCH_REDUCE_CUDA}" STREQUAL "1")
    message(FATAL_ERROR "torch_reduce: TORCH_REDUCE_CUDA=1, but CUDA cannot be built: ${_reason} (${_torch}).")
  endif()
  message(STATUS "torch_reduce: CPU only, for ${_torch} (CUDA not built: ${_reason})")
  return()
endif()

# Before enable_language: CMake would otherwise choose the oldest architecture of the toolkit and keep that.
if(NOT CMAKE_CUDA_ARCHITECTURES)
  if(NOT "$ENV{CUDAARCHS}" STREQUAL "")
    set(CMAKE_CUDA_ARCHITECTURES "$ENV{CUDAARCHS}")
  else()
    torch_reduce_architectures(CMAKE_CUDA_ARCHITECTURES "${TORCH_REDUCE_NVCC}")
  endif()
endif()
set(CMAKE_CUDA_COMPILER "${TORCH_REDUCE_NVCC}")
enable_language(CUDA)

set(TORCH_REDUCE_WITH_CUDA ON)
set(TORCH_REDUCE_CUDA_VERSION "${_nvcc_version}")
set(TORCH_REDUCE_ARCHITECTURES ${CMAKE_CUDA_ARCHITECTURES})
string(REPLACE ";" " " _list "${TORCH_REDUCE_ARCHITECTURES}")
message(STATUS "torch_reduce: CPU and CUDA ${_nvcc_version} (${_list}), for ${_torch}")

# --fmad=false and the rest: a product that feeds a sum may not fuse, a subnormal may not flush and a quotient rounds
# once, or the bits would differ from the CPU's.
set(TORCH_REDUCE_NVCC_FLAGS --fmad=false -ftz=false -prec-div=true -prec-sqrt=true
                            --expt-relaxed-constexpr -Xcompiler=-Wall,-Wextra,-ffp-contract=off,-O1
                            -Xcompiler=-fno-exceptions,-fno-asynchronous-unwind-tables)  # launches do not throw
if(_nvcc_version VERSION_LESS 13)
  list(APPEND TORCH_REDUCE_NVCC_FLAGS -Xfatbin=-compress-all)
else()  # smaller; the drivers of CUDA 13 unpack it
  list(APPEND TORCH_REDUCE_NVCC_FLAGS --compress-mode=size)
endif()
list(LENGTH TORCH_REDUCE_ARCHITECTURES _count)
if(_count GREATER 1)
  list(APPEND TORCH_REDUCE_NVCC_FLAGS --threads=2)  # one thread an architecture; more starve the files beside it
endif()
