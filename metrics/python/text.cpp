// The metrics of text: a line for each, with what its options do not say.

#include "metrics/python/binding.h"

#include "metrics/text/perplexity.h"

namespace devsan::metrics::python {

void bind_text() {
  bind<Perplexity, PerplexityOptions>(
      "text", "Perplexity", "perplexity",
      {.summary =
           R"(Perplexity of a language model: e to the mean over the tokens of minus the natural logarithm of the target's probability.)",
       .higher_is_better = false,
       .lower = 1.,
       .upper = {}});
}

} // namespace devsan::metrics::python
