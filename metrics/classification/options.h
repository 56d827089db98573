// Arguments that the classification metrics have in common.
#pragma once

#include "metrics/shared_arg.h"
#include "metrics/validate.h"

namespace devsan::metrics {

// How the scores of the classes (or labels) become the result.
enum class Average {
  kMicro, // over all samples, whatever their class
  kMacro, // mean of the classes' scores, without the classes that appear neither as target nor as
          // prediction; of several labels, the mean of all of them
  kWeighted, // the mean weighted by the classes' number of targets
  kNone,     // each class for itself
};

// What a score is of, where there are dimensions after the class.
enum class MultidimAverage {
  kGlobal,     // all samples, those of the further dimensions like those of the first one
  kSamplewise, // each sample of the first dimension, for itself
};

// What the entries of a confusion matrix are divided by; entries of an empty sum are 0.
enum class Normalize {
  kNone, // nothing: counts
  kTrue, // the number of targets of the class: rows sum to 1
  kPred, // the number of predictions of the class: columns sum to 1
  kAll,  // the number of samples
};

// How much a confusion of classes i and j weighs in Cohen's kappa.
enum class KappaWeights {
  kNone,      // 1
  kLinear,    // |i - j|
  kQuadratic, // (i - j)^2
};

} // namespace devsan::metrics
