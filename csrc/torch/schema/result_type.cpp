#include "result_type.h"

#include <ATen/OpMathType.h>
#include <c10/core/DefaultDtype.h>

#include <string>
#include <vector>

namespace torch_reduce {
namespace {

constexpr const char* kAccepted = "bool, uint8 to uint64, int8 to int64, float16, bfloat16, float32 and float64";

std::optional<DType> find_dtype(at::ScalarType type) {
  switch (type) {
    case at::kBool:
      return DType::Bool;
    case at::kByte:
      return DType::UInt8;
    case at::kChar:
      return DType::Int8;
    case at::kShort:
      return DType::Int16;
    case at::kInt:
      return DType::Int32;
    case at::kLong:
      return DType::Int64;
    case at::kUInt16:
      return DType::UInt16;
    case at::kUInt32:
      return DType::UInt32;
    case at::kUInt64:
      return DType::UInt64;
    case at::kHalf:
      return DType::Float16;
    case at::kBFloat16:
      return DType::BFloat16;
    case at::kFloat:
      return DType::Float32;
    case at::kDouble:
      return DType::Float64;
    case at::kFloat8_e4m3fn:
      return DType::Float8E4M3FN;
    case at::kFloat8_e5m2:
      return DType::Float8E5M2;
    default:
      return std::nullopt;
  }
}
// float8 is a type of elements, and of extremes of them.
bool is_result(at::ScalarType type) { return find_dtype(type) && !is_float8(type); }

bool takes_complex(Op op) { return parts_of({op, std::nullopt, false, std::nullopt}) != Parts::Refused; }

bool is_accepted_complex(at::ScalarType type) { return type == at::kComplexFloat || type == at::kComplexDouble; }

// Where the type of the result was not named.
const char* advice(const Request& r, std::optional<at::ScalarType> out) {
  return r.dtype || out ? "" : "; name one with dtype=";
}

// The type of the parts if the result is real: dtype= names it, or the complex type of such parts, which torch's norm
// asks for.
at::ScalarType complex_result_type(const Request& r, at::ScalarType in, std::optional<at::ScalarType> out) {
  const bool is_real = parts_of(r) != Parts::Apart;
  const auto type_of = [&](at::ScalarType type) {
    return is_real && is_accepted_complex(type) ? at::toRealValueType(type) : type;
  };
  TORCH_CHECK(!r.dtype || !out || *out == type_of(*r.dtype), "reduce::", name(r), ": dtype is ", *r.dtype,
              " but out has dtype ", *out);
  const auto type = out ? *out : type_of(r.dtype.value_or(in));
  TORCH_CHECK_NOT_IMPLEMENTED(is_real || is_accepted_complex(type), "reduce::", name(r), ": a result of dtype ", type,
                              " is not supported of complex elements; accepted are complex64 and complex128");
  TORCH_CHECK(!is_real || at::isFloatingType(type), "reduce::", name(r), ": the result needs a floating dtype, got ",
              type, advice(r, out));
  TORCH_CHECK_NOT_IMPLEMENTED(!is_real || is_result(type), "reduce::", name(r), ": a result of dtype ", type,
                              " is not supported; accepted are ", kAccepted);
  return type;
}

}  // namespace

std::string names_with(bool (*is_true)(Op)) {
  std::vector<std::string> names;
  for (int i = 0; i < kOps; ++i) {
    if (is_true(static_cast<Op>(i))) names.emplace_back(name(static_cast<Op>(i)));
  }
  std::string all;
  for (size_t i = 0; i < names.size(); ++i) all += (i == 0 ? "" : i + 1 < names.size() ? ", " : " and ") + names[i];
  return all;
}

bool is_float8(at::ScalarType type) { return type == at::kFloat8_e4m3fn || type == at::kFloat8_e5m2; }

DType to_dtype(at::ScalarType type) { return *find_dtype(type); }

Parts parts_of(const Request& r) {
  if (r.scan) return Parts::Refused;
  switch (r.op) {
#define TORCH_REDUCE_COMPLEX(Struct, parts) \
  case Op::Struct:                          \
    return Parts::parts;
#include <torch_reduce/complex.def>
    default:
      return Parts::Refused;
  }
}

at::ScalarType result_type(const Request& r, at::ScalarType in, std::optional<at::ScalarType> out) {
  if (is_accepted_complex(in) && parts_of(r) != Parts::Refused) return complex_result_type(r, in, out);
  TORCH_CHECK_NOT_IMPLEMENTED(find_dtype(in), "reduce::", name(r), ": the dtype ", in,
                              " of the input is not supported; accepted are ", kAccepted,
                              "; float8_e4m3fn and float8_e5m2 are for reductions and scans, complex64 and "
                              "complex128 for ",
                              names_with(takes_complex));
  TORCH_CHECK(!traits_of(r.op).refuses_integers || at::isFloatingType(in), "reduce::", name(r),
              ": the input needs a floating dtype, got ", in);
  if (!takes_dtype(signature_of(r.op))) {
    const Gives gives = traits_of(r.op).gives;
    const auto truth = in == at::kByte ? in : at::kBool;
    const bool is_computed = signature_of(r.op) == Signature::spread && r.dtype == at::toOpMathType(in);
    const auto own = is_computed || (is_float8(in) && !traits_of(r.op).selects) ? at::toOpMathType(in) : in;
    const auto type = gives == Gives::Int64 ? at::kLong : gives == Gives::Truth ? truth : own;
    TORCH_CHECK(!out || *out == type, "reduce::", name(r), ": out must have the dtype ",
                gives == Gives::Element ? "of the input, " : "", type, ", but has ", *out);
    return type;
  }
  const bool integral = at::isIntegralType(in, /*includeBool=*/true);
  const bool floats = traits_of(r.op).gives == Gives::Floating;
  const auto natural = is_float8(in)                            ? at::kFloat
                       : !integral || traits_of(r.op).divides() ? in
                       : floats                                 ? c10::get_default_dtype_as_scalartype()
                                                                : at::kLong;
  TORCH_CHECK(takes_dtype(signature_of(r)) || !out || *out == natural, "reduce::", name(r),
              ": out must have the dtype ", natural, ", but has ", *out);
  TORCH_CHECK(!r.dtype || !out || *out == *r.dtype, "reduce::", name(r), ": dtype is ", *r.dtype, " but out has dtype ",
              *out);
  const auto type = r.dtype ? *r.dtype : out ? *out : natural;
  TORCH_CHECK_NOT_IMPLEMENTED(is_result(type), "reduce::", name(r), ": a result of dtype ", type,
                              " is not supported; accepted are ", kAccepted);
  const bool refuses_type = traits_of(r.op).skips_nan && !traits_of(r.op).takes_magnitudes && !integral;
  TORCH_CHECK_NOT_IMPLEMENTED(!refuses_type || at::isFloatingType(type), "reduce::", name(r),
                              ": floating elements need a floating result, got ", type);
  TORCH_CHECK(!(floats || traits_of(r.op).divides()) || at::isFloatingType(type), "reduce::", name(r),
              ": the result needs a floating dtype, got ", type, advice(r, out));
  return type;
}

}  // namespace torch_reduce
