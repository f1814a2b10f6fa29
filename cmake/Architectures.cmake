# torch_reduce_architectures(<result> <nvcc>): a value for CMAKE_CUDA_ARCHITECTURES, such as 80-real;90-real;90-virtual.
#
# The first of these that is given: TORCH_CUDA_ARCH_LIST, in torch's own notation ("8.0;9.0a;9.0+PTX"); every
# architecture of a release for TORCH_REDUCE_RELEASE=1; the visible GPUs'; for TORCH_REDUCE_PORTABLE, two that serve every
# GPU from 8.0 on, as newer ones make theirs of 9.0's PTX; 9.0. Those of 8.x all run code of 8.0, from which theirs would
# differ in nothing but its schedule. One architecture keeps a development build short, and a release carries PTX of its
# newest for the GPUs that come after it.

function(torch_reduce_architectures result nvcc)
  if(NOT "$ENV{TORCH_CUDA_ARCH_LIST}" STREQUAL "")
    string(REGEX REPLACE "[ ,]+" ";" wanted "$ENV{TORCH_CUDA_ARCH_LIST}")
  elseif("$ENV{TORCH_REDUCE_RELEASE}")
    execute_process(COMMAND "${nvcc}" --list-gpu-arch OUTPUT_VARIABLE known)
    set(wanted "")
    foreach(arch 8.0 9.0 10.0 12.0)  # 10.0 and 12.0 came with CUDA 12.8
      string(REPLACE "." "" digits ${arch})
      if(known MATCHES "compute_${digits}\n")
        list(APPEND wanted ${arch})
        set(newest ${arch})
      endif()
    endforeach()
    list(APPEND wanted "${newest}+PTX")
  else()
    find_program(TORCH_REDUCE_NVIDIA_SMI nvidia-smi)
    set(wanted "")
    if(TORCH_REDUCE_NVIDIA_SMI)
      execute_process(COMMAND "${TORCH_REDUCE_NVIDIA_SMI}" --query-gpu=compute_cap --format=csv,noheader
                      OUTPUT_VARIABLE answer ERROR_QUIET)
      string(REGEX MATCHALL "[0-9]+\\.[0-9]+" wanted "${answer}")  # empty where the driver does not answer
    endif()
    if(NOT wanted AND TORCH_REDUCE_PORTABLE)
      set(wanted 8.0 9.0+PTX)
    elseif(NOT wanted)
      set(wanted 9.0)
    endif()
  endif()

  set(architectures "")
  foreach(arch IN LISTS wanted)
    if(NOT arch MATCHES "^([0-9]+)\\.([0-9])([af]?)(\\+PTX)?$")
      message(FATAL_ERROR "torch_reduce: TORCH_CUDA_ARCH_LIST holds \"${arch}\"; accepted are values such as 9.0, "
                          "9.0a and 9.0+PTX.")
    endif()
    set(digits "${CMAKE_MATCH_1}${CMAKE_MATCH_2}${CMAKE_MATCH_3}")
    list(APPEND architectures "${digits}-real")
    if(CMAKE_MATCH_4)
      list(APPEND architectures "${digits}-virtual")
    endif()
  endforeach()
  list(REMOVE_DUPLICATES architectures)
  set(${result} "${architectures}" PARENT_SCOPE)
endfunction()
