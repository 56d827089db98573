#include "metrics/image/similarity_planes.h"

#include <algorithm>
#include <type_traits>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

namespace devsan::metrics::detail {
namespace {

// x, y, x^2, y^2, xy.
constexpr int64_t kMaps = 5;

int64_t reflect(int64_t i, int64_t size) {
  if (i < 0)
    i = -i;
  return i < size ? i : 2 * (size - 1) - i;
}

template <typename T> struct Plane {
  const T *x, *y;
  int64_t height, width;
  const std::vector<T> &by_rows, &by_columns;
  T c1, c2;
  T *image; // null: not asked for
};

struct PlaneSums {
  double similarity = 0, contrast = 0; // of all pixels; of those where the window is inside
};

// One row of the output: first the window's rows are summed for each column, of all five maps at
// once, then its columns. `rows` is room for kMaps rows of width + 2 reach.
template <typename T>
[[gnu::always_inline]] inline void similarity_row(const Plane<T> &plane, int64_t row, T *rows,
                                                  T *similarity, T *contrast) {
  constexpr int64_t kLanes = 64 / sizeof(T); // that the registers hold
  const auto taps_y = static_cast<int64_t>(plane.by_rows.size());
  const auto taps_x = static_cast<int64_t>(plane.by_columns.size());
  const int64_t width = plane.width, reach_y = taps_y / 2, reach_x = taps_x / 2;
  const int64_t padded = width + 2 * reach_x;
  const auto sum_rows = [&](int64_t first, auto lanes_tag) {
    constexpr int64_t kWidth = decltype(lanes_tag)::value;
    T sums[kMaps][kWidth] = {};
    for (int64_t k = 0; k < taps_y; ++k) {
      const int64_t from = reflect(row + k - reach_y, plane.height) * width + first;
      const T weight = plane.by_rows[k];
      for (int64_t lane = 0; lane < kWidth; ++lane) {
        const T x = plane.x[from + lane], y = plane.y[from + lane];
        const T wx = weight * x, wy = weight * y;
        sums[0][lane] += wx;
        sums[1][lane] += wy;
        sums[2][lane] += wx * x;
        sums[3][lane] += wy * y;
        sums[4][lane] += wx * y;
      }
    }
    for (int64_t map = 0; map < kMaps; ++map)
      for (int64_t lane = 0; lane < kWidth; ++lane)
        rows[map * padded + reach_x + first + lane] = sums[map][lane];
  };
  int64_t first = 0;
  for (; first + kLanes <= width; first += kLanes)
    sum_rows(first, std::integral_constant<int64_t, kLanes>());
  for (; first < width; ++first)
    sum_rows(first, std::integral_constant<int64_t, 1>());
  for (int64_t map = 0; map < kMaps; ++map) {
    T *line = rows + map * padded + reach_x;
    for (int64_t k = 1; k <= reach_x; ++k) {
      line[-k] = line[k];
      line[width - 1 + k] = line[width - 1 - k];
    }
  }

  const auto sum_columns = [&](int64_t column, auto lanes_tag) {
    constexpr int64_t kWidth = decltype(lanes_tag)::value;
    T sums[kMaps][kWidth] = {};
    for (int64_t k = 0; k < taps_x; ++k) {
      const T weight = plane.by_columns[k];
      for (int64_t map = 0; map < kMaps; ++map)
        for (int64_t lane = 0; lane < kWidth; ++lane)
          sums[map][lane] += weight * rows[map * padded + column + k + lane];
    }
    for (int64_t lane = 0; lane < kWidth; ++lane) {
      const T x = sums[0][lane], y = sums[1][lane];
      const T variance_x = std::max(sums[2][lane] - x * x, T(0));
      const T variance_y = std::max(sums[3][lane] - y * y, T(0));
      const T upper = 2 * (sums[4][lane] - x * y) + plane.c2;
      const T lower = variance_x + variance_y + plane.c2;
      contrast[column + lane] = upper / lower;
      similarity[column + lane] =
          ((2 * x * y + plane.c1) * upper) / ((x * x + y * y + plane.c1) * lower);
    }
  };
  int64_t column = 0;
  for (; column + kLanes <= width; column += kLanes)
    sum_columns(column, std::integral_constant<int64_t, kLanes>());
  for (; column < width; ++column)
    sum_columns(column, std::integral_constant<int64_t, 1>());
}

template <typename T>
[[gnu::always_inline]] inline PlaneSums sums_of(const Plane<T> &plane, std::vector<T> &room) {
  const auto reach_y = static_cast<int64_t>(plane.by_rows.size()) / 2;
  const auto reach_x = static_cast<int64_t>(plane.by_columns.size()) / 2;
  const int64_t width = plane.width;
  room.resize(kMaps * (width + 2 * reach_x) + 2 * width);
  T *similarity = room.data() + kMaps * (width + 2 * reach_x), *contrast = similarity + width;
  PlaneSums sums;
  for (int64_t row = 0; row < plane.height; ++row) {
    T *line = plane.image ? plane.image + row * width : similarity;
    similarity_row(plane, row, room.data(), line, contrast);
    double of_row = 0, of_contrast = 0;
    for (int64_t i = 0; i < width; ++i)
      of_row += static_cast<double>(line[i]);
    sums.similarity += of_row;
    if (row < reach_y || row >= plane.height - reach_y)
      continue;
    for (int64_t i = reach_x; i < width - reach_x; ++i)
      of_contrast += static_cast<double>(contrast[i]);
    sums.contrast += of_contrast;
  }
  return sums;
}

#if defined(__x86_64__)
template <typename T>
[[gnu::target("avx2")]] PlaneSums sums_by_avx2(const Plane<T> &plane, std::vector<T> &room) {
  return sums_of(plane, room);
}
#endif

template <typename T> PlaneSums best_sums_of(const Plane<T> &plane, std::vector<T> &room) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2"))
    return sums_by_avx2(plane, room);
#endif
  return sums_of(plane, room);
}

template <typename T>
Similarity of_planes(const at::Tensor &preds, const at::Tensor &target,
                     const std::vector<T> &by_rows, const std::vector<T> &by_columns, double c1,
                     double c2, SimilarityPart besides) {
  const at::Tensor x = preds.resolve_neg().contiguous(), y = target.resolve_neg().contiguous();
  const int64_t n = x.size(0), channels = x.size(1), height = x.size(2), width = x.size(3);
  Similarity result{at::empty({n}, x.options()), {}, {}};
  if (besides == SimilarityPart::kContrast)
    result.contrast = at::empty({n}, x.options());
  if (besides == SimilarityPart::kImage)
    result.image = at::empty_like(x, at::MemoryFormat::Contiguous);
  T *const image = result.image.defined() ? result.image.mutable_data_ptr<T>() : nullptr;
  const T *const xs = x.template const_data_ptr<T>(), *const ys = y.template const_data_ptr<T>();
  std::vector<PlaneSums> sums(n * channels);
  at::parallel_for(0, n * channels, 1, [&](int64_t begin, int64_t end) {
    std::vector<T> room;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t from = i * height * width;
      sums[i] =
          best_sums_of<T>({xs + from, ys + from, height, width, by_rows, by_columns,
                           static_cast<T>(c1), static_cast<T>(c2), image ? image + from : nullptr},
                          room);
    }
  });
  const int64_t reach_y = static_cast<int64_t>(by_rows.size()) / 2,
                reach_x = static_cast<int64_t>(by_columns.size()) / 2;
  const auto pixels = static_cast<double>(channels * height * width);
  const auto inside = static_cast<double>(channels * std::max<int64_t>(height - 2 * reach_y, 0) *
                                          std::max<int64_t>(width - 2 * reach_x, 0));
  T *similarity = result.similarity.mutable_data_ptr<T>();
  T *contrast = result.contrast.defined() ? result.contrast.mutable_data_ptr<T>() : nullptr;
  for (int64_t i = 0; i < n; ++i) {
    PlaneSums all;
    for (int64_t c = 0; c < channels; ++c) {
      all.similarity += sums[i * channels + c].similarity;
      all.contrast += sums[i * channels + c].contrast;
    }
    similarity[i] = static_cast<T>(all.similarity / pixels);
    if (contrast)
      contrast[i] = static_cast<T>(all.contrast / inside);
  }
  return result;
}

} // namespace

Similarity similarity_of_planes(const at::Tensor &preds, const at::Tensor &target,
                                const std::vector<double> &by_rows,
                                const std::vector<double> &by_columns, double c1, double c2,
                                SimilarityPart besides) {
  if (preds.scalar_type() == at::kDouble)
    return of_planes<double>(preds, target, by_rows, by_columns, c1, c2, besides);
  return of_planes<float>(preds, target, {by_rows.begin(), by_rows.end()},
                          {by_columns.begin(), by_columns.end()}, c1, c2, besides);
}

} // namespace devsan::metrics::detail
