#pragma once

#include "metrics/classification/f_beta.h"

namespace devsan::metrics {

// Dice score: 2 |A and B| / (|A| + |B|) of the samples A predicted as a class and B that belong to
// it, which is the F1 score, under the name that segmentation gives it. Over all samples seen;
// TorchMetrics' DiceScore with aggregation_level="global", but for classes that never appear, which
// score zero_division.
struct DiceFormula : F1ScoreFormula {
  static constexpr const char *kName = "Dice";
};

DEVSAN_CLASSIFICATION_METRIC(BinaryDice, binary_dice, StatScore<DiceFormula, Binary>)
DEVSAN_CLASSIFICATION_METRIC(MulticlassDice, multiclass_dice,
                             StatScore<DiceFormula, MulticlassTopK>)
DEVSAN_CLASSIFICATION_METRIC(MultilabelDice, multilabel_dice,
                             StatScore<DiceFormula, MultilabelAveraged>)

} // namespace devsan::metrics
