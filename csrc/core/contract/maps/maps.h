// The maps by number: names, structs, what each reads and writes.
#pragma once

#include "core/contract/maps/norms.h"
#include "core/contract/maps/softmax.h"

namespace torch_reduce {

enum class Map : uint8_t {
#define TORCH_REDUCE_MAP(Struct, name) Struct,
#include "core/contract/maps/maps.def"
};

constexpr int kMaps = 0
#define TORCH_REDUCE_MAP(Struct, name) +1
#include "core/contract/maps/maps.def"
    ;

inline const char* name(Map map) {
  constexpr const char* names[] = {
#define TORCH_REDUCE_MAP(Struct, name) #name,
#include "core/contract/maps/maps.def"
  };
  return names[static_cast<int>(map)];
}

template <class M>
struct MapTag {
  using type = M;
};
// Calls f with the tag of a map's struct.
template <class F>
auto with_map(Map map, F f) {
  switch (map) {
#define TORCH_REDUCE_MAP(Struct, name) \
  case Map::Struct:                    \
    return f(MapTag<Struct>{});
#include "core/contract/maps/maps.def"
  }
  return f(MapTag<Softmax>{});
}

// What is reduced of a row.
template <class M, class Word>
using total_of = accumulator_of<typename M::Reduces, Word>;
template <class M, class Word>
using row_of_map = typename M::template Row<Word>;
template <class M, class Word>
using read_of_map = typename M::template Read<Word>;

// The traits of a map that is known at run time. Words are of the compute type.
struct TraitsOfMap {
  int words_read, words_written, total_words, parameters;
  bool reads_second, adds_second, reads_weight, reads_bias, has_channels, writes_values, keeps_lifted;
};
inline TraitsOfMap traits_of(Map map) {
  return with_map(map, [](auto tag) -> TraitsOfMap {
    using M = typename decltype(tag)::type;
    return {count_of_words<read_of_map<M, double>, double>,
            M::writes_row ? count_of_words<row_of_map<M, double>, double> : 0,
            !M::reduces ? 0 : M::sums * static_cast<int>(sizeof(total_of<M, double>) / sizeof(double)),
            M::parameters,
            M::reads_second,
            M::adds_second,
            M::reads_weight,
            M::reads_bias,
            M::has_channels,
            M::writes_values,
            M::keeps_lifted};
  });
}

}  // namespace torch_reduce
