// Selections, for one instruction set (dispatch/kernels.h). A row is read once. What may be among the selected is kept,
// and thinned out whenever there is no room for more; an element that is no better than the worst of those is passed
// over.
#include "core/cpu/select/kernels.h"

#include <algorithm>
#include <new>

#include "core/contract/integers.h"
#include "core/cpu/scan/job.h"
#include "core/cpu/scan/read.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {
namespace {

template <class Number>
class Candidates {
 public:
  using Item = Indexed<Number>;

  // Room for those of rows of n elements.
  Candidates(const Selection& s, int64_t n)
      : count_(s.count),
        largest_(s.largest),
        room_(smaller(n, 2 * s.count + kSpare)),
        items_(static_cast<Item*>(::operator new(static_cast<size_t>(room_ + 1) * sizeof(Item)))) {}
  ~Candidates() { ::operator delete(items_); }
  Candidates(const Candidates&) = delete;

  void clear() { kept_ = 0, is_thinned_ = false; }

  // Elements from number `at` on.
  void take(const Number* x, int64_t at, int64_t size) {
    for (int64_t i = 0; i < size; i += kAtOnce) {
      const int64_t end = smaller(i + kAtOnce, size);
      if (is_thinned_ && end == i + kAtOnce && !has_better(x + i)) continue;
      for (int64_t j = i; j < end; ++j) {
        const Item item = selectable(x[j], at + j, largest_);
        if (is_thinned_ && item.key <= worst_.key) continue;  // of equal ones, the first are there already
        if (kept_ == room_) thin();
        items_[kept_++] = item;
      }
    }
  }

  // The selected ones, in their order.
  const Item* sorted() {
    if (kept_ > count_) thin();
    std::sort(items_, items_ + count_, Better());
    return items_;
  }

 private:
  static constexpr int64_t kAtOnce = 32, kSpare = 512;
  struct Better {
    bool operator()(const Item& a, const Item& b) const { return a.rank() > b.rank(); }
  };

  // Or some that cannot be compared.
  bool has_better(const Number* x) const {
    const Number worst = value_of(worst_, largest_);
    const auto any = [x](auto is_no_better) {
      typename Item::Key better = 0;  // as wide as an element, for vectors
      for (int64_t j = 0; j < kAtOnce; ++j) better |= is_no_better(x[j]) ? 0 : 1;
      return better != 0;
    };
    return largest_ ? any([worst](Number v) { return v <= worst; }) : any([worst](Number v) { return v >= worst; });
  }
  void thin() {
    if (count_ > 0) {
      std::nth_element(items_, items_ + count_ - 1, items_ + kept_, Better());
      worst_ = items_[count_ - 1];
    }
    kept_ = count_;
    is_thinned_ = true;
  }

  int64_t count_;
  bool largest_;
  int64_t room_;
  Item* items_;
  int64_t kept_ = 0;
  bool is_thinned_ = false;
  Item worst_{};
};

template <class Number>
struct SelectionJob {
  const Selection& selection;
  ScanJob<Selects, Indexed<Number>> rows;
};

template <class Number>
void select_rows(void* context, int64_t begin, int64_t end) {
  const auto& job = *static_cast<const SelectionJob<Number>*>(context);
  const Selection& s = job.selection;
  constexpr int64_t kBlock = 256;
  const int64_t n = s.rows.layout.n, stride = scanned_stride(s.rows), bytes = job.rows.in_bytes();
  Candidates<Number> candidates(s, n);
  for (int64_t row = begin; row < end; ++row) {
    const auto [in, out, one] = job.rows.rows_of(row, 1);
    candidates.clear();
    for (int64_t at = 0; at < n; at += kBlock) {
      const int64_t size = smaller(kBlock, n - at);
      const char* const from = in + at * stride * bytes;
      Number block[kBlock];
      const bool as_they_lie = job.rows.reads_numbers(stride);
      if (!as_they_lie) job.rows.read(from, stride, size, block);
      candidates.take(as_they_lie ? reinterpret_cast<const Number*>(from) : block, at, size);
    }
    const Indexed<Number>* const items = candidates.sorted();
    auto* const to = reinterpret_cast<int64_t*>(out);
    for (int64_t i = 0; i < s.count; ++i) to[i * *s.rows.scan_stride] = Selects::finish(items[i], n);
  }
}

template <class Number>
void select_in(const Selection& s, const void* in, int64_t* out, const Threads& threads) {
  const ScanPlan no_plan;
  const SelectionJob<Number> job{s,
                                 {s.rows, no_plan, scan_reader_of<Selects, Number>(s.rows), nullptr, nullptr,
                                  static_cast<const char*>(in), reinterpret_cast<char*>(out), nullptr}};
  void* const context = const_cast<SelectionJob<Number>*>(&job);
  const int64_t rows = job.rows.units_of(1);
  if (threads.count == 1 || rows == 1) return select_rows<Number>(context, 0, rows);
  constexpr int64_t kElementsAtOnce = 1 << 14;
  threads.parallel_for(rows, ceil_div(kElementsAtOnce, s.rows.layout.n), context, select_rows<Number>);
}

}  // namespace

void run_selection(const Selection& s, const void* in, int64_t* out, const Threads& threads) {
  switch (s.rows.compute) {
    case DType::Float32:
      return select_in<float>(s, in, out, threads);
    case DType::Float64:
      return select_in<double>(s, in, out, threads);
    default:
      return select_in<int64_t>(s, in, out, threads);
  }
}

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
