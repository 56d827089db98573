/* What both stand-ins share: that a test can ask which functions were reached. */
#ifndef DEVSAN_RUNTIME_CUDA_STANDIN_H
#define DEVSAN_RUNTIME_CUDA_STANDIN_H

/* Notes that the function of that name, without a suffix for the default stream, was entered.
   `devsan_standin_calls` of either library says how often; both are exported. */
void devsan_standin_count(const char *name);
int devsan_standin_calls(const char *name);

#endif
