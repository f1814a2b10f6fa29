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
  Signature signature;
};
constexpr ScanRow row_of(Scan scan) {
  constexpr ScanRow rows[] = {
#define TORCH_REDUCE_SCAN(Struct, name, signature) {#name, Op::Struct, Signature::signature},
#include <torch_reduce/scans.def>
  };
  return rows[static_cast<int>(scan)];
}

inline const char* name(Scan scan) { return row_of(scan).name; }
constexpr Op op_of(Scan scan) { return row_of(scan).op; }
constexpr Signature signature_of(Scan scan) { return row_of(scan).signature; }

constexpr bool has_scan(Op op) {
  for (int i = 0; i < kScans; ++i) {
    if (op_of(static_cast<Scan>(i)) == op) return true;
  }
  return false;
}

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
