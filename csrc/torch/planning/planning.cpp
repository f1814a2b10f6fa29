// What tests and tuning set for all plans of the process, and the plans made under it.
#include "planning.h"

#include <torch/library.h>

#include <stdexcept>
#include <utility>
#include <vector>

#include "core/cpu/dispatch/reduce.h"

namespace torch_reduce {
namespace {

Constraint in_force;
std::vector<std::pair<int64_t Tuning::*, int64_t>> tuned;  // in place of the table's values
Gpu without_gpu = make_gpu(132, 9, 0);                     // what is planned for then

void constrain(c10::string_view family, int64_t vector, int64_t split) {
  in_force = constraint_of(family, vector, split);
}

void tune(const c10::List<std::string>& names, at::IntArrayRef values) {
  TORCH_CHECK_VALUE(names.size() == values.size(), "reduce: a tuning has a value for each name, got ", names.size(),
                    " names and ", values.size(), " values");
  std::vector<std::pair<int64_t Tuning::*, int64_t>> given;
  try {
    for (size_t i = 0; i < names.size(); ++i) {
      const Tunable& t = tunable(names.get(i));
      t.check(values[i]);
      given.emplace_back(t.value, values[i]);
    }
  } catch (const std::invalid_argument& e) {
    TORCH_CHECK_VALUE(false, e.what());
  }
  tuned = std::move(given);
}

void set_typical_gpu(int64_t sms, int64_t major, int64_t minor) {
  TORCH_CHECK_VALUE(sms >= 1 && sms <= 1024, "reduce: a GPU has from 1 to 1024 SMs, got ", sms);
  TORCH_CHECK_VALUE(major >= 1 && major <= 99 && minor >= 0 && minor <= 9,
                    "reduce: a compute capability is a pair such as (9, 0), got (", major, ", ", minor, ")");
  without_gpu = make_gpu(static_cast<int>(sms), static_cast<int>(major), static_cast<int>(minor));
}

std::string cpu_capability(c10::string_view name) {
  if (!name.empty()) {
    try {
      cpu::set_capability(std::string(name).c_str());
    } catch (const std::invalid_argument& e) {
      TORCH_CHECK_VALUE(false, e.what());
    }
  }
  return cpu::capability();
}

}  // namespace

Gpu under_tuning(Gpu gpu) {
  for (const auto& [member, value] : tuned) gpu.tuning.*member = value;
  return gpu;
}

const Gpu& typical_gpu() { return without_gpu; }

const Constraint& constraint_in_force() { return in_force; }

Constraint constraint_of(c10::string_view family, int64_t vector, int64_t split) {
  Constraint c;
  if (!family.empty()) {
    for (const Family f : {Family::Rows, Family::ShortRows, Family::Columns, Family::Tiles}) {
      if (family == name(f)) c.family = static_cast<int>(f);
    }
    TORCH_CHECK_VALUE(c.family >= 0, "reduce: unknown kernel family \"", family,
                      "\"; there are rows, short_rows, columns and tiles");
  }
  TORCH_CHECK_VALUE(vector >= -1 && vector <= 1, "reduce: vector is 0, 1 or -1 for either, got ", vector);
  TORCH_CHECK_VALUE(split >= 0 && (split & (split - 1)) == 0, "reduce: split is a power of two or 0 for any, got ",
                    split);
  c.vector = static_cast<int>(vector);
  c.split = split;
  return c;
}

Work work_for(const Problem& problem, const Gpu& gpu, bool words, const Constraint& constraint) {
  try {
    return make_work(problem, under_tuning(gpu), constraint, words);
  } catch (const std::invalid_argument& e) {
    TORCH_CHECK(false, e.what());
  }
}

cpu::Work cpu_work_for(const Problem& problem, int threads, bool words) {
  try {
    return cpu::make_work(problem, threads, in_force, words);
  } catch (const std::invalid_argument& e) {
    TORCH_CHECK(false, e.what());
  }
}

TORCH_LIBRARY_IMPL(reduce, CatchAll, m) {
  m.impl("_constrain", TORCH_FN(constrain));
  m.impl("_tune", TORCH_FN(tune));
  m.impl("_typical_gpu", TORCH_FN(set_typical_gpu));
  m.impl("_cpu_capability", TORCH_FN(cpu_capability));
}

}  // namespace torch_reduce
