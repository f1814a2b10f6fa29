#include "core/problem/map_problem.h"

namespace torch_reduce {

void add_dim(MapProblem& p, const MapDim& dim) {
  p.rows *= dim.size;
  if (dim.size == 1) return;
  if (p.dims > 0) {
    MapDim& outer = p.dim[p.dims - 1];
    const auto follows = [&](int64_t MapStrides::* of) { return outer.stride.*of == dim.stride.*of * dim.size; };
    if (follows(&MapStrides::x) && follows(&MapStrides::second) && follows(&MapStrides::out) &&
        follows(&MapStrides::mask)) {
      outer = {outer.size * dim.size, dim.stride};
      return;
    }
  }
  p.dim[p.dims++] = dim;
}

}  // namespace torch_reduce
