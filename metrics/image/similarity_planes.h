// The structural similarity of planes in the host's memory, see similarity_of().
#pragma once

#include <vector>

#include "metrics/image/image_similarity.h"

namespace devsan::metrics::detail {

// preds and target [N, C, H, W] of one dtype, float32 or float64; the weights of the window by rows
// and by columns; the two constants.
Similarity similarity_of_planes(const at::Tensor &preds, const at::Tensor &target,
                                const std::vector<double> &by_rows,
                                const std::vector<double> &by_columns, double c1, double c2,
                                SimilarityPart besides);

} // namespace devsan::metrics::detail
