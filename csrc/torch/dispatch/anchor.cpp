// The one symbol that C++ programs link to. Everything else of the library is reached through torch's dispatcher.
#include <torch_reduce/reduce.h>

namespace torch_reduce {

bool registered() { return c10::Dispatcher::singleton().findSchema({"reduce::sum", ""}).has_value(); }

}  // namespace torch_reduce
