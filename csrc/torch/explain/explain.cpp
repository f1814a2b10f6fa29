// Plans in the open: as JSON for torch_reduce.explain, and what they are tuned by.
#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <sstream>

#include "../dispatch/complex.h"
#include "../dispatch/two.h"
#include "../planning/planning.h"
#include "../schema/request.h"
#include "../schema/result_type.h"
#include "core/plan/gpu/choose/cost.h"

namespace torch_reduce {
namespace {

// A flat JSON object, member by member.
class Json {
 public:
  template <class T>
  Json& add(const char* key, const T& value) {
    text_ << (empty_ ? "{" : ", ") << '"' << key << "\": " << value;
    empty_ = false;
    return *this;
  }
  Json& add(const char* key, const char* value) { return add(key, '"' + std::string(value) + '"'); }
  Json& add(const char* key, bool value) { return add(key, std::string(value ? "true" : "false")); }
  std::string str() const { return text_.str() + "}"; }

 private:
  std::ostringstream text_;
  bool empty_ = true;
};

// What every plan has. One on the CPU has no CTAs, and tasks in place of a grid.
struct Shown {
  const char* family = nullptr;
  bool vector = false;
  const char* reads = nullptr;
  int64_t grid = 0;
  int block = 1;
  int64_t split = 1;
  int64_t shared_bytes = 0, scratch_bytes = 0, expected_bytes = 0;
  const char* finish = nullptr;  // null: as the split says
  int launches = 0;

  Json& add_to(Json& json) const {
    return json.add("family", family)
        .add("vector", vector)
        .add("reads", reads)
        .add("grid", grid)
        .add("block", block)
        .add("split", split)
        .add("shared_bytes", shared_bytes)
        .add("scratch_bytes", scratch_bytes)
        .add("expected_bytes", expected_bytes)
        .add("finish", finish      ? finish
                       : split > 1 ? "partials"
                                   : "direct")
        .add("launches", launches);
  }
};

// Of either kind of plan for a GPU.
template <class AnyPlan>
Shown shown_on_gpu(const AnyPlan& plan, const char* reads) {
  Shown shown;
  shown.family = name(family_of(plan));
  shown.vector = loads_vectors(plan.access);
  shown.reads = reads;
  shown.grid = plan.grid;
  shown.block = plan.block;
  shown.split = plan.units;
  shown.shared_bytes = plan.shared_bytes;
  shown.scratch_bytes = plan.scratch_bytes;
  shown.expected_bytes = plan.expected_bytes;
  shown.launches = plan.launches;
  return shown;
}

// What one load of a kernel takes.
const char* reads(const Plan& plan) {
  const bool vector = loads_vectors(plan.access);
  if (plan.is<StripsPlan>()) return vector ? "strips, 16 bytes" : "strips, elements";
  if (plan.access == Access::Unordered) return "16 bytes, unordered";
  if (plan.access == Access::Pairs) return "pairs";
  if (!vector) return "elements";
  return is_unaligned(plan.access) ? "16 bytes, unaligned" : "16 bytes";
}

void show(Json& json, const Plan& plan, const Problem& p, const Gpu& gpu) {
  Shown shown = shown_on_gpu(plan, reads(plan));
  shown.finish = name(plan.finish);
  // Of the second kernel: which of two, and its split of an SM's memory.
  shown.add_to(json).add("few_outputs", plan.finish_kernel.few_outputs).add("carveout", plan.finish_kernel.carveout);
  const Effort e = effort_of(p, plan, gpu);
  json.add("kernel", name(e.kernel))
      .add("memory_bytes", e.memory_bytes)
      .add("cta_sectors", e.cta_sectors)
      .add("lines", e.lines)
      .add("warps", e.warps)
      .add("loads", e.loads)
      .add("values", e.values)
      .add("trees", e.trees)
      .add("rounds", e.rounds)
      .add("sms", e.sms)
      .add("shares_sms", e.shares_sms)
      .add("estimated_us", estimated_us(e, plan.finish));
}

void show(Json& json, const exact::ExactPlan& plan, const Problem&, const Gpu&) {
  shown_on_gpu(plan, loads_vectors(plan.access) ? "16 bytes" : "elements").add_to(json);
}

int64_t scanned_bytes(const Problem& p) {
  return p.layout.outputs * p.layout.n * static_cast<int64_t>(size_of(p.in) + size_of(p.out));
}

void show(Json& json, const ScanPlan& plan, const Problem& p, const Gpu&) {
  Shown shown;
  shown.family = "scan";
  shown.reads = plan.reads_packed ? "packed rows" : plan.reads_across ? "across rows" : "along rows";
  shown.grid = plan.grid;
  shown.block = plan.block;
  shown.split = plan.parts;
  shown.shared_bytes = plan.shared_bytes;
  shown.scratch_bytes = plan.scratch_bytes;
  shown.expected_bytes = scanned_bytes(p) + 2 * plan.scratch_bytes;
  shown.finish = plan.parts > 1 ? "look_back" : "direct";
  shown.launches = plan.launches;
  shown.add_to(json);
}

void show_on_cpu(Json& json, const cpu::ScanPlan& plan, const Problem& p, bool) {
  Shown shown;
  shown.family = "scan";
  shown.reads = plan.across ? "across rows" : "along rows";
  shown.grid = p.layout.outputs * plan.pieces;
  shown.split = plan.pieces;
  shown.expected_bytes = scanned_bytes(p);
  shown.add_to(json);
}

void show_on_cpu(Json& json, const cpu::PartnerPlan& plan, const Problem& p, bool) {
  const auto elements = static_cast<int64_t>(size_of(p.in) + size_of(p.partner.type));
  Shown shown;
  shown.family = plan.across ? "columns" : "rows";
  shown.reads = "blocks of two tensors";
  shown.grid = plan.groups * plan.pieces;
  shown.split = plan.pieces;
  shown.expected_bytes = p.layout.outputs * (p.layout.n * elements + static_cast<int64_t>(size_of(p.out)));
  shown.add_to(json);
}

void show_on_cpu(Json& json, const cpu::ExactPlan& plan, const Problem& p, bool side_by_side) {
  const auto element = static_cast<int64_t>(size_of(p.in)) * (is_of_two(p) ? 2 : 1);
  const int64_t in_and_out = p.layout.outputs * (p.layout.n * element + static_cast<int64_t>(size_of(p.out)));
  Shown shown;
  const bool are_rows = plan.reading == cpu::ExactReading::Runs || plan.reading == cpu::ExactReading::Rows;
  shown.family = plan.groups == 0 ? "empty" : are_rows ? "rows" : "columns";
  shown.vector = side_by_side;
  shown.reads = side_by_side ? "neighbours" : "elements";
  shown.grid = plan.groups * plan.split;
  shown.split = plan.split;
  shown.scratch_bytes = plan.scratch_bytes;
  shown.expected_bytes = in_and_out + 2 * plan.scratch_bytes;
  shown.add_to(json);
}

void show_on_cpu(Json& json, const cpu::CpuPlan& plan, const Problem&, bool side_by_side) {
  Shown shown;
  shown.family = name(plan.family);
  shown.vector = side_by_side;
  shown.reads = plan.access != cpu::Access::Straight ? name(plan.access)
                : plan.block_rows > 0                ? "blocks"
                : side_by_side                       ? "neighbours"
                                                     : "elements";
  shown.grid = plan.tasks;
  shown.split = plan.split;
  shown.scratch_bytes = plan.scratch_bytes();
  shown.expected_bytes = plan.expected_bytes;
  shown.add_to(json);
}

Request request_of(c10::string_view op, at::OptionalIntArrayRef dim, std::optional<at::ScalarType> dtype,
                   c10::string_view mode) {
  const auto scan = find_scan(op);
  if (!scan) {
    const Op reduction = parse_op(op);
    return {reduction, dim, false, dtype, mode, traits_of(reduction).has_order ? 2. : 1.};
  }
  const size_t dims = dim ? dim->size() : 0;
  TORCH_CHECK_VALUE(dims == 1, "reduce: ", op, " goes along one dim, got ", dims, " dims");
  return scan_request(*scan, *dim, dtype);
}

// On an empty `device`, that of the tensor.
std::string explain_request(const Request& r, const at::Tensor& self, c10::string_view family, int64_t vector,
                            c10::string_view device, const at::Tensor* other) {
  if (other && is_float8(self.scalar_type())) {
    const at::Tensor beside = without_float8(*other);
    return explain_request(r, without_float8(self), family, vector, device, &beside);
  }
  const Checked checked = other ? check_two(r, self, *other) : check(r, self);
  TORCH_CHECK_VALUE(device.empty() || device == "cuda" || device == "cpu",
                    "reduce: device is \"cpu\" or \"cuda\", got \"", device, "\"");
  TORCH_CHECK_VALUE(!device.empty() || self.is_cuda() || self.is_cpu(), "reduce: a ", self.device(),
                    " tensor needs device= to be explained for");
  TORCH_CHECK_NOT_IMPLEMENTED(self.layout() == at::kStrided, "reduce: a tensor of layout ", self.layout(),
                              " cannot be explained; accepted are strided ones");
  if (self.is_complex()) {
    const auto use = [&](const Request& real, const at::Tensor& numbers) {
      if (!other) return explain_request(real, numbers, family, vector, device, nullptr);
      const at::Tensor beside = other->unsqueeze(-1).expand(numbers.sizes());
      return explain_request(real, numbers, family, vector, device, &beside);
    };
    const auto as_magnitudes = [&](const at::Tensor& parts) { return at::empty(self.sizes(), parts.options()); };
    return of_parts(r, checked, self, use, as_magnitudes);
  }
  const bool on_cuda = device.empty() ? self.is_cuda() : device == "cuda";
  const auto sizes = result_sizes(r, checked, self.sizes());
  const Problem p = make_problem(r, checked, as_read(checked, self), result_strides<int64_t>(r, sizes), other);

  Json json;
  json.add("device", on_cuda ? "cuda" : "cpu")
      .add("op", name(r))
      .add("mode", name(p.mode))
      .add("input", name(p.in))
      .add("compute", name(p.compute))
      .add("output", name(p.out))
      .add("outputs", p.layout.outputs)
      .add("n", p.layout.n);
  const bool side_by_side = self.dim() == 0 || self.stride(-1) == 1;
  if (on_cuda) {
    const bool is_free = family.empty() && vector < 0;
    const Constraint constraint = is_free ? constraint_in_force() : constraint_of(family, vector, 0);
    const Gpu gpu = self.is_cuda() ? describe_gpu(self.get_device()) : typical_gpu();
    std::visit([&](const auto& plan) { show(json, plan, p, gpu); }, work_for(p, gpu, /*words=*/false, constraint).plan);
  } else {
    std::visit([&](const auto& plan) { show_on_cpu(json, plan, p, side_by_side); },
               cpu_work_for(p, at::get_num_threads()).plan);
  }
  return json.str();
}

std::string explain(const at::Tensor& self, at::OptionalIntArrayRef dim, c10::string_view op,
                    std::optional<at::ScalarType> dtype, c10::string_view mode, c10::string_view family, int64_t vector,
                    c10::string_view device, const std::optional<at::Tensor>& other) {
  Request r = request_of(op, dim, dtype, mode);
  if (other) r.role = role_of(r);
  return explain_request(r, self, family, vector, device, other ? &*other : nullptr);
}

std::string show_tuning() {
  const Gpu gpu = under_tuning(typical_gpu());
  Json json;
  for (const Tunable& t : kTunables) json.add(t.name, gpu.tuning.*t.value);
  return json.str();
}

}  // namespace

TORCH_LIBRARY_IMPL(reduce, CompositeExplicitAutograd, m) { m.impl("_explain", TORCH_FN(explain)); }

TORCH_LIBRARY_IMPL(reduce, CatchAll, m) { m.impl("_tuning", TORCH_FN(show_tuning)); }

}  // namespace torch_reduce
