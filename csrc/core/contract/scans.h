// The scans by number: names, signatures, and the operators whose results of all prefixes they are.
#pragma once

#include <cstring>
#include <optional>

#include "core/contract/ops.h"

namespace torch_reduce {

enum class Scan : uint8_t {
#define TORCH_REDUCE_SCAN(Struct, name, signature) name,
#include <torch_reduce/scans.def>
};

constexpr int kScans = 0
#define TORCH_REDUCE_SCAN(Struct, name, signature) +1
#include <torch_reduce/scans.def>
    ;

struct ScanRow {
  const char* name;
  Op op;
  Form form;
};
constexpr ScanRow row_of(Scan scan) {
  constexpr ScanRow rows[] = {
#define TORCH_REDUCE_SCAN(Struct, name, signature) {#name, Op::Struct, forms::signature},
#include <torch_reduce/scans.def>
  };
  return rows[static_cast<int>(scan)];
}

inline const char* name(Scan scan) { return row_of(scan).name; }
constexpr Op op_of(Scan scan) { return row_of(scan).op; }
constexpr Signature signature_of(Scan scan) { return row_of(scan).form.takes; }
constexpr bool is_pair(Scan scan) { return row_of(scan).form.is_pair; }
// Of a pair, the scan of the indices.
constexpr Scan scan_of_indices(Scan scan) { return op_of(scan) == Op::Max ? Scan::_cumargmax : Scan::_cumargmin; }

constexpr bool has_scan(Op op) {
  for (int i = 0; i < kScans; ++i) {
    if (op_of(static_cast<Scan>(i)) == op) return true;
  }
  return false;
}

// What a scan combines, where that is not what the operator does: of equal elements, the last one has the index.
template <class O>
using scanned = std::conditional_t<O::needs_index, Last<O>, O>;

// Calls f with the tag of an operator's struct, if it is one of scans.
template <class F>
auto with_scanned(Op op, F f) {
  switch (op) {
#define TORCH_REDUCE_SCAN(Struct, name, signature) \
  case Op::Struct:                                 \
    return f(OperatorTag<Struct>{});
#include <torch_reduce/scans.def>
    default:
      return f(OperatorTag<Sum>{});
  }
}

}  // namespace torch_reduce
