// A training loop: least squares by gradient descent, the loss and its gradient by torch_reduce::mean. In mode
// deterministic every step has the same bits whatever the number of threads, so two trainings end with equal weights.
#include <torch/torch.h>
#include <torch_reduce/reduce.h>

#include <cmath>
#include <iostream>

namespace {

constexpr int kSteps = 200;
constexpr double kRate = 0.2;

struct Result {
  at::Tensor weight;
  double loss;
};

Result train(const at::Tensor& x, const at::Tensor& y, int threads) {
  torch::set_num_threads(threads);
  auto weight = torch::zeros({x.size(1)}, x.options()).set_requires_grad(true);
  double last = 0;
  for (int step = 0; step < kSteps; ++step) {
    const auto predicted = torch_reduce::sum(x * weight, 1);
    const auto loss = torch_reduce::mean((predicted - y).square());
    loss.backward();
    const torch::NoGradGuard no_grad;
    weight.sub_(kRate * weight.grad());
    weight.mutable_grad().zero_();
    last = loss.item<double>();
  }
  return {weight.detach(), last};
}

}  // namespace

int main(int argc, char** argv) {
  const torch::Device device(argc > 1 ? argv[1] : "cpu");
  torch::manual_seed(0);
  const auto x = torch::randn({4096, 8}).to(device);
  const auto truth = torch::arange(1, 9, torch::kFloat).to(device);
  const auto y = torch_reduce::sum(x * truth, 1);

  const Result one = train(x, y, 1), four = train(x, y, 4);
  const double error = (one.weight - truth).abs().max().item<double>();
  std::cout << "loss " << one.loss << ", weights within " << error << " of the truth\n";
  const bool learned = error < 1e-3, same = one.weight.equal(four.weight) && one.loss == four.loss;
  std::cout << (learned ? "learned" : "NOT LEARNED") << ", " << (same ? "the same bits twice" : "OTHER BITS") << "\n";
  return learned && same ? 0 : 1;
}
