// Calls from Python without a frame of Python: arguments as a program mostly writes them become a Request. Whatever is
// out of the ordinary is left to the function of Python that has the same signature, with its conversions and messages.
//
// One module for every CPython from 3.10 on: the limited API alone, and of torch's own objects the two layouts below.
#include <ATen/PythonTorchFunctionTLS.h>
#include <Python.h>
#include <torch/csrc/Dtype.h>

#include <array>
#include <memory>

#include "torch/dispatch/call.h"

// torch/csrc/autograd/python_variable.h declares these. It includes pybind11, which the limited API does not compile.
extern PyObject* THPVariableClass;
extern PyObject* ParameterClass;
PyObject* THPVariable_Wrap(at::TensorBase&& tensor);
namespace torch {
bool translate_exception_to_python(const std::exception_ptr& error);  // of torch/csrc/Exceptions.h
}

namespace torch_reduce {
namespace {

// The beginning of struct THPVariable, which tells_tensors() checks.
struct TensorObject {
  PyObject_HEAD at::Tensor tensor;
};
const at::Tensor& tensor_of(PyObject* x) { return reinterpret_cast<TensorObject*>(x)->tensor; }

// In the order of operators.def's signatures; of a norm, the order is the second one. `out`, and other names of these,
// are for the function of Python.
enum Name { kX, kDim, kKeepdim, kDtype, kMode, kCorrection, kOrd, kNames };
using Given = std::array<PyObject*, kNames>;  // borrowed; null where an argument is not given
std::array<PyObject*, kNames> names;          // interned, as are those of a call

struct Function {
  Request request;
  bool is_pair;
  std::array<bool, kNames> takes;
  Py_ssize_t positional;
  PyObject* python;
  PyObject* named = nullptr;  // of two results: the class of tuples that holds them
};

constexpr const char* kFunction = "torch_reduce.Function";

Function describe(const std::string& name) {
  const auto scan = find_scan(name);
  const Op op = scan ? op_of(*scan) : parse_op(name);
  const Request request{op, std::nullopt, false, std::nullopt, "deterministic", 1, scan};
  const Signature takes = signature_of(request);
  const bool is_typed = takes_dtype(takes), is_spread = takes == Signature::spread;
  const bool is_norm = takes == Signature::of_order;
  return {request,
          is_pair(op) || (scan && is_pair(*scan)),
          {true, true, !scan, is_typed, is_typed && !scan, is_spread, is_norm},
          is_norm             ? 4
          : scan || is_spread ? 2  // torch's third argument of a variance may be another
                              : 3,
          nullptr};
}

// No mode of __torch_function__ or __torch_dispatch__, no transform and no tracer: nobody who is to see the call as the
// function of Python makes it.
bool is_unwatched() {
  return (c10::impl::tls_local_dispatch_key_set().included_ - c10::default_included_set).empty() &&
         !at::impl::torch_function_mode_enabled();
}

bool match(const Function& f, PyObject* const* values, Py_ssize_t positional, PyObject* keywords, Given& given) {
  if (positional > f.positional) return false;
  constexpr Name kOfNorms[] = {kX, kOrd, kDim, kKeepdim};
  for (Py_ssize_t i = 0; i < positional; ++i)
    given[f.takes[kOrd] ? static_cast<Py_ssize_t>(kOfNorms[i]) : i] = values[i];
  const Py_ssize_t named = keywords ? PyTuple_Size(keywords) : 0;
  for (Py_ssize_t i = 0; i < named; ++i) {
    PyObject* keyword = PyTuple_GetItem(keywords, i);
    size_t name = 0;
    while (name < kNames && names[name] != keyword) ++name;
    if (name == kNames || !f.takes[name] || given[name]) return false;
    given[name] = values[positional + i];
  }
  return true;
}

bool is_plain_tensor(PyObject* x) {
  auto* type = reinterpret_cast<PyObject*>(Py_TYPE(x));
  return type == THPVariableClass || type == ParameterClass;
}

bool read_int(PyObject* from, int64_t& to) {
  if (!PyLong_CheckExact(from)) return false;
  int overflow = 0;
  to = PyLong_AsLongLongAndOverflow(from, &overflow);
  return overflow == 0;
}

bool read_float(PyObject* from, double& to) {
  if (!PyFloat_CheckExact(from) && !PyLong_CheckExact(from)) return false;
  to = PyFloat_AsDouble(from);
  if (PyErr_Occurred()) return PyErr_Clear(), false;
  return true;
}

using Dims = c10::SmallVector<int64_t, 8>;

bool read_dims(PyObject* from, Dims& to) {
  const bool is_list = PyList_CheckExact(from);
  if (!is_list && !PyTuple_CheckExact(from)) return read_int(from, to.emplace_back());
  const Py_ssize_t size = is_list ? PyList_Size(from) : PyTuple_Size(from);
  to.resize(size);
  for (Py_ssize_t i = 0; i < size; ++i) {
    if (!read_int(is_list ? PyList_GetItem(from, i) : PyTuple_GetItem(from, i), to[i])) return false;
  }
  return true;
}

// Fills the request, whose dim refers to `dims`; false for what is not an ordinary value.
bool read(const Given& given, Request& request, Dims& dims) {
  if (!given[kX] || !is_plain_tensor(given[kX])) return false;
  if (PyObject* dim = given[kDim]; request.scan) {
    if (!dim || !read_int(dim, dims.emplace_back())) return false;
    request.dim = dims;
  } else if (dim && dim != Py_None) {
    if (!read_dims(dim, dims)) return false;
    request.dim = dims;
  }
  if (PyObject* keepdim = given[kKeepdim]) {
    if (keepdim != Py_True && keepdim != Py_False) return false;
    request.keepdim = keepdim == Py_True;
  }
  if (PyObject* dtype = given[kDtype]; dtype && dtype != Py_None) {
    if (!THPDtype_Check(dtype)) return false;
    request.dtype = reinterpret_cast<THPDtype*>(dtype)->scalar_type;
  }
  if (PyObject* mode = given[kMode]) {
    if (!PyUnicode_CheckExact(mode)) return false;
    Py_ssize_t size = 0;
    const char* text = PyUnicode_AsUTF8AndSize(mode, &size);
    if (!text) return PyErr_Clear(), false;
    request.mode = {text, static_cast<size_t>(size)};
  }
  if (PyObject* correction = given[kCorrection]; correction && correction != Py_None) {
    if (!read_float(correction, request.correction)) return false;
  }
  if (traits_of(request.op).has_order) {
    double ord = 2;
    if (given[kOrd] && !read_float(given[kOrd], ord)) return false;
    request.op = norm_of(ord);
    request.correction = ord;
  }
  return true;
}

struct WithoutGil {
  PyThreadState* state = PyEval_SaveThread();
  ~WithoutGil() { PyEval_RestoreThread(state); }
};

PyObject* as_named(PyObject* type, PyObject* both) {
  if (!type || !both) return both;
  static const auto make = reinterpret_cast<newfunc>(PyType_GetSlot(&PyTuple_Type, Py_tp_new));
  PyObject* arguments = PyTuple_Pack(1, both);
  Py_DECREF(both);
  PyObject* named = arguments ? make(reinterpret_cast<PyTypeObject*>(type), arguments, nullptr) : nullptr;
  Py_XDECREF(arguments);
  return named;
}

PyObject* wrap(std::tuple<at::Tensor, at::Tensor> pair) {
  auto& [first, second] = pair;
  PyObject *one = THPVariable_Wrap(std::move(first)), *other = THPVariable_Wrap(std::move(second));
  PyObject* both = one && other ? PyTuple_Pack(2, one, other) : nullptr;
  Py_XDECREF(one);
  Py_XDECREF(other);
  return both;
}
PyObject* wrap(at::Tensor tensor) { return THPVariable_Wrap(std::move(tensor)); }

template <class Result>
PyObject* run(Result (*operate)(const Request&, const at::Tensor&), const Request& request, const at::Tensor& x) {
  return wrap([&] {
    const WithoutGil released;
    return operate(request, x);
  }());
}

PyObject* call_python(const Function& f, PyObject* const* values, Py_ssize_t positional, PyObject* keywords) {
  PyObject* arguments = PyTuple_New(positional);
  PyObject* options = keywords ? PyDict_New() : nullptr;
  bool ok = arguments && (options || !keywords);
  for (Py_ssize_t i = 0; ok && i < positional; ++i) {
    Py_INCREF(values[i]);
    ok = PyTuple_SetItem(arguments, i, values[i]) == 0;
  }
  for (Py_ssize_t i = 0; ok && keywords && i < PyTuple_Size(keywords); ++i) {
    ok = PyDict_SetItem(options, PyTuple_GetItem(keywords, i), values[positional + i]) == 0;
  }
  PyObject* result = ok ? PyObject_Call(f.python, arguments, options) : nullptr;
  Py_XDECREF(arguments);
  Py_XDECREF(options);
  return result;
}

PyObject* call_function(PyObject* self, PyObject* const* values, Py_ssize_t positional, PyObject* keywords) {
  const auto& f = *static_cast<Function*>(PyCapsule_GetPointer(self, kFunction));
  Given given{};
  Dims dims;
  Request request = f.request;
  if (!is_unwatched() || !match(f, values, positional, keywords, given) || !read(given, request, dims)) {
    return call_python(f, values, positional, keywords);
  }
  try {
    const at::Tensor x = tensor_of(given[kX]);  // held, as another thread may drop it while this one is without the GIL
    return f.is_pair ? as_named(f.named, run(call_pair, request, x)) : run(call, request, x);
  } catch (...) {
    torch::translate_exception_to_python(std::current_exception());
    return nullptr;
  }
}

void forget(PyObject* capsule) {
  auto* f = static_cast<Function*>(PyCapsule_GetPointer(capsule, kFunction));
  Py_DECREF(f->python);
  Py_XDECREF(f->named);
  delete f;
}

PyMethodDef call_definition = {"call", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call_function)),
                               METH_FASTCALL | METH_KEYWORDS, nullptr};

// bind(name, function, named): the operator of this name, called as `function` is. Two results it gives in the class
// `named`, where one is given.
PyObject* bind(PyObject*, PyObject* arguments) {
  const char* name = nullptr;
  PyObject *python = nullptr, *named = nullptr;
  if (!PyArg_ParseTuple(arguments, "sO|O!", &name, &python, &PyType_Type, &named)) return nullptr;
  try {
    auto f = std::make_unique<Function>(describe(name));
    PyObject* capsule = PyCapsule_New(f.get(), kFunction, forget);
    if (!capsule) return nullptr;
    Py_INCREF(python);
    Py_XINCREF(named);
    f->named = named;
    f.release()->python = python;
    PyObject* bound = PyCFunction_NewEx(&call_definition, capsule, nullptr);
    Py_DECREF(capsule);
    return bound;
  } catch (...) {
    torch::translate_exception_to_python(std::current_exception());
    return nullptr;
  }
}

// tells_tensors(x): whether this module finds the tensor in a torch.Tensor.
PyObject* tells_tensors(PyObject*, PyObject* x) {
  if (!is_plain_tensor(x)) return PyBool_FromLong(false);
  PyObject* address = PyObject_GetAttrString(x, "_cdata");
  if (!address) return nullptr;
  const bool same = PyLong_AsVoidPtr(address) == tensor_of(x).unsafeGetTensorImpl();
  Py_DECREF(address);
  return PyErr_Occurred() ? nullptr : PyBool_FromLong(same);
}

PyMethodDef functions[] = {{"bind", bind, METH_VARARGS, nullptr},
                           {"tells_tensors", tells_tensors, METH_O, nullptr},
                           {nullptr, nullptr, 0, nullptr}};
PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "fast_calls", nullptr, -1, functions, nullptr, nullptr, nullptr, nullptr};

}  // namespace
}  // namespace torch_reduce

PyMODINIT_FUNC PyInit_fast_calls() {
  using namespace torch_reduce;
  constexpr const char* kSpelled[kNames] = {"x", "dim", "keepdim", "dtype", "mode", "correction", "ord"};
  for (int i = 0; i < kNames; ++i) names[i] = PyUnicode_InternFromString(kSpelled[i]);
  return PyModule_Create(&definition);
}
