// Inference without Python: loads a package that AOTInductor has compiled (export_model.py makes one), in which
// the operators are called by name, and runs it.
//   infer model.pt2 [cuda]
#include <ATen/ATen.h>
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>
#include <torch_reduce/reduce.h>

#include <fstream>
#include <iostream>
#include <string>

namespace {

bool python_is_loaded() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("libpython") != std::string::npos || line.find("libtorch_python") != std::string::npos) return true;
  }
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: infer model.pt2 [device]\n";
    return 2;
  }
  const at::Device device(argc > 2 ? argv[2] : "cpu");
  const c10::InferenceMode inference;
  torch::inductor::AOTIModelPackageLoader model(argv[1]);
  bool ok = true;
  for (const int64_t rows : {3, 64}) {
    const auto x = at::arange(rows * 1000, at::kFloat).view({rows, 1000}).to(device) / 7;
    const auto results = model.run({x});
    // What export_model.py's model computes, operator by operator.
    const auto total = torch_reduce::sum(at::relu(x - 100), 1, false, {.dtype = at::kDouble});
    const auto whole = torch_reduce::sum(x, 1, false, {.dtype = at::kLong});
    const auto mean = torch_reduce::mean(x, 1, false, {.dtype = at::kBFloat16, .mode = torch_reduce::Mode::exact});
    std::cout << rows << " rows: first score " << results[0][0].item<double>() << "\n";
    ok &= results[0].equal(total - torch_reduce::amax(total)) && results[1].equal(whole) && results[2].equal(mean);
  }
  const bool python = python_is_loaded();
  std::cout << (ok ? "equal to the operators" : "NOT EQUAL") << ", " << (python ? "PYTHON" : "no Python") << "\n";
  return ok && !python ? 0 : 1;
}
