// What this library was built for, as JSON: read by torch_reduce.build_info and by bug reports.
#include <torch/library.h>

namespace torch_reduce {
namespace {

std::string build_info() {
  std::string architectures = TORCH_REDUCE_BUILD_ARCHITECTURES;
  std::string list;
  while (!architectures.empty()) {
    const size_t end = std::min(architectures.find(' '), architectures.size());
    list += (list.empty() ? "\"" : ", \"") + architectures.substr(0, end) + '"';
    architectures.erase(0, end + 1);
  }
  const std::string cuda = TORCH_REDUCE_BUILD_CUDA;
  return std::string("{\"torch\": \"" TORCH_REDUCE_BUILD_TORCH "\", \"cuda\": ") + (cuda.empty() ? "false" : "true") +
         ", \"cuda_version\": " + (cuda.empty() ? "null" : '"' + cuda + '"') + ", \"architectures\": [" + list + "]}";
}

}  // namespace

TORCH_LIBRARY_IMPL(reduce, CatchAll, m) { m.impl("_build_info", TORCH_FN(build_info)); }

}  // namespace torch_reduce
