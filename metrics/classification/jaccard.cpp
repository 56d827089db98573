#include "metrics/classification/jaccard.h"

#include <ATen/ATen.h>

namespace devsan::metrics {

at::Tensor JaccardIndexFormula::value(const StatCounts &counts) {
  StatCounts c = counts;
  const std::optional<int64_t> ignored = c.config.ignore_index;
  if (c.multiclass() && c.config.average != Average::kNone && ignored && *ignored >= 0 &&
      *ignored < c.config.classes) {
    // It has no targets; without predictions it does not appear at all.
    c.fp = c.fp.clone();
    c.fp[*ignored].zero_();
  }
  const at::Tensor united = c.tp + c.fp + c.fn;
  if (c.config.average == Average::kMicro)
    return c.ratio(c.tp.sum(), united.sum());
  return c.averaged(c.ratio(c.tp, united));
}

} // namespace devsan::metrics
