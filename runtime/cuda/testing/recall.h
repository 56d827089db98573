/* Between the program of the recall test and the libraries that it opens. */
#ifndef DEVSAN_RUNTIME_CUDA_TESTING_RECALL_H
#define DEVSAN_RUNTIME_CUDA_TESTING_RECALL_H

struct RecallResult {
  int calls;
  int failures;
};

struct RecallResult devsan_recall(void);

/* Calls the library's own CUDA runtime, and returns how often that was reached; asks nothing of the
   loader. */
int devsan_recall_again(void);

/* Defined by the program: called while the loader is at work, which holds its lock. */
void recallWhileLoading(void);

/* Defined by the program: whether another CUDA runtime came first. Names then stand for its. */
int recallIsSecond(void);

#endif
