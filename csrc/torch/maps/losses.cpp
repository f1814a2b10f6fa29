#include "losses.h"

#include <ATen/WrapDimUtils.h>

#include "../schema/request.h"
#include "describe.h"

namespace torch_reduce {

LossCall::LossCall(LossInputs& in, int64_t dim, int64_t ignore_index, double smoothing, double z,
                   const at::Tensor& result, int most_dims)
    : rows{}, options{} {
  const at::Tensor &x = in.self, &out = result.defined() ? result : x;
  const int64_t classes = at::maybe_wrap_dim(dim, x.dim());
  rows.in = to_dtype(x.scalar_type());
  rows.compute = to_dtype(compute_type_of_map(x.scalar_type()));
  rows.along = {x.stride(classes), 0, out.stride(classes)};
  for (int64_t d = 0; d < x.dim(); ++d) {
    if (d == classes) continue;
    const int64_t of_target = d < classes ? d : d - 1;
    add_dim(rows, {x.size(d), {x.stride(d), in.target.stride(of_target), out.stride(d)}});
  }
  options = {x.size(classes), ignore_index, smoothing, z};
  if (rows.dims <= most_dims) return;
  in.self = x.contiguous();
  in.target = in.target.contiguous();
  *this = LossCall(in, dim, ignore_index, smoothing, z, result, kMaxDims);
}

}  // namespace torch_reduce
