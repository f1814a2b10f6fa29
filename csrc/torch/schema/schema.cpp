// The schema, once for every device.
#include <torch/library.h>

TORCH_LIBRARY(reduce, m) {
#define TYPED \
  "(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None, str mode=\"deterministic\""
#define UNTYPED "(Tensor self, int[1]? dim=None, bool keepdim=False"
  const std::vector<at::Tag> tags{at::Tag::pt2_compliant_tag};
  for (const std::string op : {"sum", "mean", "prod"}) {
    m.def((op + TYPED ") -> Tensor").c_str(), tags);
    m.def((op + ".out" TYPED ", Tensor(a!) out) -> Tensor(a!)").c_str(), tags);
  }
  for (const std::string op : {"amax", "amin"}) {
    m.def((op + UNTYPED ") -> Tensor").c_str(), tags);
    m.def((op + ".out" UNTYPED ", *, Tensor(a!) out) -> Tensor(a!)").c_str(), tags);
  }
  m.def("exact_accumulate(Tensor self, int[1]? dim=None, bool keepdim=False) -> Tensor", tags);
  m.def("exact_round(Tensor acc, *, ScalarType dtype, SymInt divisor=1) -> Tensor", tags);
  m.def("exact_normalize(Tensor acc) -> Tensor", tags);
#undef TYPED
#undef UNTYPED
  m.def(
      "_explain(Tensor self, int[1]? dim=None, *, str op=\"sum\", ScalarType? dtype=None, str mode=\"deterministic\", "
      "str device=\"\") -> str");
  m.def("_constrain(str family=\"\", int vector=-1, int split=0) -> ()");
  m.def("_tune(str[] names, int[] values) -> ()");
  m.def("_tuning() -> str");
  m.def("_typical_gpu(int sms=132, int major=9, int minor=0) -> ()");
  m.def("_cpu_capability(str name=\"\") -> str");
  m.def("_build_info() -> str");
}
