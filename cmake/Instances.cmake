# Writes the sources that instantiate the CUDA kernels, so that they compile side by side: one for each operator that
# has kernels of its own (include/torch_reduce/operators.def) in fp32 and one in the other compute types, the same with a
# mask (masked.def), of normalised factors (csrc/core/contract/partner.h) and for each scan (scans.def), one for each map
# (maps.def), one for each element type of exact sums, and one for exact sums of products.
#   TORCH_REDUCE_INSTANCES  their paths

set(TORCH_REDUCE_INSTANCES "")
set(_with_kernels "")  # operators

function(torch_reduce_instance name header)
  set(_path "${CMAKE_CURRENT_BINARY_DIR}/instances/${name}.cu")
  set(_all "")
  foreach(_declaration IN LISTS ARGN)
    string(APPEND _all "template cudaError_t ${_declaration};\n")
  endforeach()
  file(CONFIGURE OUTPUT "${_path}" @ONLY CONTENT
       "#include \"core/cuda/@header@\"\n\nnamespace torch_reduce::cuda {\n@_all@}\n")
  set(TORCH_REDUCE_INSTANCES ${TORCH_REDUCE_INSTANCES} "${_path}" PARENT_SCOPE)
endfunction()

# Of the operator, in each of its compute types.
function(torch_reduce_instances_of name struct)
  set(_arguments "const Plan&, const Problem&, const Buffers&, cudaStream_t, bool")
  torch_reduce_instance(${name}_narrow launch/launch.cuh "launch_typed<${struct}, float>(${_arguments})")
  torch_reduce_instance(
    ${name}_wide launch/launch.cuh
    "launch_typed<${struct}, double>(${_arguments})" "launch_typed<${struct}, int64_t>(${_arguments})"
    "launch_typed<${struct}, Endless>(${_arguments})" "launch_typed<${struct}, Int128>(${_arguments})")
  set(TORCH_REDUCE_INSTANCES ${TORCH_REDUCE_INSTANCES} PARENT_SCOPE)
endfunction()

set(_def "${CMAKE_CURRENT_SOURCE_DIR}/include/torch_reduce/masked.def")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${_def}")
file(STRINGS "${_def}" _masked REGEX "^TORCH_REDUCE_MASKED\\(")
set(_def "${CMAKE_CURRENT_SOURCE_DIR}/include/torch_reduce/operators.def")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${_def}")
file(STRINGS "${_def}" _rows REGEX "^TORCH_REDUCE_OPERATOR\\(")
foreach(_row IN LISTS _rows)
  if(NOT _row MATCHES "^TORCH_REDUCE_OPERATOR\\(([A-Za-z0-9_]+), ([a-z0-9_]+), (typed|plain|spread|spread_pair|plain_pair|of_order|paired), ([A-Za-z0-9_]+)\\)$")
    message(FATAL_ERROR "torch_reduce: ${_def} has a row that is none: ${_row}")
  endif()
  set(_row "${CMAKE_MATCH_1};${CMAKE_MATCH_2};${CMAKE_MATCH_4}")
  list(GET _row 0 _struct)
  list(GET _row 1 _name)
  list(GET _row 2 _kernels)
  if(_struct STREQUAL _kernels)
    list(APPEND _with_kernels ${_struct})
    torch_reduce_instances_of(${_name} ${_struct})
    if("TORCH_REDUCE_MASKED(${_struct})" IN_LIST _masked)
      torch_reduce_instances_of(${_name}_masked "Masked<${_struct}>")
    endif()
  endif()
endforeach()
torch_reduce_instances_of(dot_normal NormalDot)
set(_def "${CMAKE_CURRENT_SOURCE_DIR}/include/torch_reduce/scans.def")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${_def}")
file(STRINGS "${_def}" _rows REGEX "^TORCH_REDUCE_SCAN\\(")
foreach(_row IN LISTS _rows)
  if(NOT _row MATCHES "^TORCH_REDUCE_SCAN\\(([A-Za-z0-9_]+), ([a-z0-9_]+), (typed|plain|plain_pair)\\)$")
    message(FATAL_ERROR "torch_reduce: ${_def} has a row that is none: ${_row}")
  endif()
  set(_of "(const ScanPlan&, const Problem&, const Buffers&, cudaStream_t, bool)")
  set(_struct "scanned<${CMAKE_MATCH_1}>")
  if(CMAKE_MATCH_1 IN_LIST _with_kernels)
    torch_reduce_instance(${CMAKE_MATCH_2}_narrow scan/launch.cuh "launch_scan_typed<${_struct}, float>${_of}")
    torch_reduce_instance(
      ${CMAKE_MATCH_2}_wide scan/launch.cuh "launch_scan_typed<${_struct}, double>${_of}"
      "launch_scan_typed<${_struct}, int64_t>${_of}" "launch_scan_typed<${_struct}, Int128>${_of}")
  endif()
endforeach()
set(_def "${CMAKE_CURRENT_SOURCE_DIR}/csrc/core/contract/maps/maps.def")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${_def}")
file(STRINGS "${_def}" _rows REGEX "^TORCH_REDUCE_MAP\\(")
foreach(_row IN LISTS _rows)
  if(NOT _row MATCHES "^TORCH_REDUCE_MAP\\(([A-Za-z0-9_]+), ([a-z0-9_]+)\\)$")
    message(FATAL_ERROR "torch_reduce: ${_def} has a row that is none: ${_row}")
  endif()
  set(_struct "${CMAKE_MATCH_1}")
  torch_reduce_instance(
    map_${CMAKE_MATCH_2} map/launch.cuh
    "launch_map_of<${_struct}>(const MapPlan&, const MapProblem&, const MapBuffers&, cudaStream_t, bool)")
endforeach()
foreach(_element Half BFloat16 float double)
  torch_reduce_instance(
    exact_${_element} exact/launch.cuh
    "launch_exact_typed<${_element}>(const exact::ExactPlan&, const Problem&, const Buffers&, cudaStream_t, bool)")
endforeach()
set(_of "(const exact::ExactPlan&, const Problem&, const Buffers&, cudaStream_t, bool)")
torch_reduce_instance(
  exact_products exact/launch_products.cuh "launch_exact_products<Half>${_of}" "launch_exact_products<BFloat16>${_of}"
  "launch_exact_products<float>${_of}")
