# The CPU kernels, compiled once for each instruction set: csrc/core/cpu/*/kernels.cpp, each time in a namespace of its
# own, named by TR_CPU_NAMESPACE. The library chooses among them when it is loaded.
#   TORCH_REDUCE_CAPABILITIES  the object libraries
#
# Files of their own and not the compiler's target_clones: clones of a template are not made, and inlining stops at
# their border. Contraction is off: FMA is used where the sources name it alone.

set(TORCH_REDUCE_CAPABILITIES "")

# Kernels do not throw, and need no tables to be unwound by: a thirtieth of the library. Those of exact sums allocate.
set_source_files_properties(csrc/core/cpu/dispatch/kernels.cpp PROPERTIES COMPILE_OPTIONS
                            "-fno-exceptions;-fno-asynchronous-unwind-tables")

function(torch_reduce_capability name)
  add_library(torch_reduce_cpu_${name} OBJECT ${_kernels})
  target_compile_definitions(torch_reduce_cpu_${name} PRIVATE TR_CPU_NAMESPACE=${name})
  target_include_directories(torch_reduce_cpu_${name} PRIVATE ${TORCH_REDUCE_INCLUDES})
  # Functions at lines of the instruction cache: else what happens to stand before a loop in the library decides how it
  # lies in them. (512, 768) over 0 of fp32, of the same object file at another place, took 1.1 times as long.
  # Paths are not split, as GCC would: a select that has become a branch, mispredicted, took argmax of integers 3 times
  # as long.
  # -O2 with what the loops need of -O3 takes two thirds of the time to compile.
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    list(PREPEND ARGN $<$<CONFIG:Release>:-O2> -fpeel-loops -fversion-loops-for-strides -fvect-cost-model=dynamic
                      -fno-split-paths)
  endif()
  target_compile_options(torch_reduce_cpu_${name} PRIVATE ${TORCH_REDUCE_CXX_FLAGS} -falign-functions=64 ${ARGN})
  set(TORCH_REDUCE_CAPABILITIES ${TORCH_REDUCE_CAPABILITIES} torch_reduce_cpu_${name} PARENT_SCOPE)
endfunction()

if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  torch_reduce_capability(baseline)
elseif(TORCH_REDUCE_BASELINE_ONLY)
  torch_reduce_capability(baseline)
  target_compile_definitions(torch_reduce_objects PRIVATE TR_BASELINE_ONLY)
else()
  # Of processors without AVX2, of before 2013: right, small and soon compiled, so without vectors. GCC takes arrays there
  # for uninitialised.
  torch_reduce_capability(baseline -Os -DTR_SCALAR $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  torch_reduce_capability(avx2 -mavx2 -mfma -mf16c)
  # GCC prefers 256-bit vectors for most AVX-512 machines, out of care for clocks that newer ones do not lower.
  torch_reduce_capability(avx512 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mf16c -mprefer-vector-width=512)
endif()
