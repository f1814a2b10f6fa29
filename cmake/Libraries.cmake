# torch_reduce_library(<target> <name> <exports> <source>...): a shared library of these sources, with the target
# TorchReduce::<name> for a project that has this one as a subdirectory. It shows what the version script <exports> names.
#   TORCH_REDUCE_OTHER_CUDA  pattern of the source that is for a build with CUDA where this one is without, or the reverse

set(TORCH_REDUCE_OTHER_CUDA "/cuda\\.cpp$")
if(TORCH_REDUCE_WITH_CUDA)
  set(TORCH_REDUCE_OTHER_CUDA "/cuda_missing\\.cpp$")
endif()

function(torch_reduce_library target name exports)
  add_library(${target} SHARED ${ARGN})
  add_library(TorchReduce::${name} ALIAS ${target})
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${TORCH_REDUCE_CXX_FLAGS}>)
  target_include_directories(${target} PUBLIC "${PROJECT_SOURCE_DIR}/include" PRIVATE "${PROJECT_SOURCE_DIR}/csrc")
  set(_exports "${PROJECT_SOURCE_DIR}/${exports}")
  # Not LINKER: or -Wl: those take a path apart where it holds a comma.
  # -s: without the names of functions that nobody can link to.
  target_link_options(${target} PRIVATE $<$<CONFIG:Release>:-s> -Wl,--no-undefined
                                        "SHELL:-Xlinker \"--version-script=${_exports}\"")
  # torch is in the process before this library, or linked by the program that links it, so its place is no business of
  # the file: it stays loadable wherever the same torch is.
  set_target_properties(${target} PROPERTIES LINK_DEPENDS "${_exports}" SKIP_BUILD_RPATH ON INSTALL_RPATH "")
  if(TORCH_REDUCE_WITH_CUDA)
    # The runtime is linked statically. Streams, memory and graphs belong to the driver, so it works beside torch's own
    # and a program's, and nothing has to be found when loading: torch's libcudart lies where only torch's libraries
    # look, and a C++ program would fail on it.
    set_target_properties(${target} PROPERTIES CUDA_RUNTIME_LIBRARY Static LINKER_LANGUAGE CUDA)
    target_include_directories(${target} SYSTEM PRIVATE ${CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES})
  endif()
endfunction()
