/* Tells the recall program while it is being loaded. */
#include "runtime/cuda/testing/recall.h"

__attribute__((constructor)) static void whileLoading(void) {
  recallWhileLoading();
}
