/* Between the program of the recall test and the libraries that it opens. */
#ifndef DEVSAN_RUNTIME_CUDA_TESTING_RECALL_H
#define DEVSAN_RUNTIME_CUDA_TESTING_RECALL_H

struct RecallResult {
  int calls;
  int failures;
};

struct RecallResult devsan_recall(void);

/* Defined by the program: whether another CUDA runtime came first. Names then stand for its. */
int recallIsSecond(void);

#endif
