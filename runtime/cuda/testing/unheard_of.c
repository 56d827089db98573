/* For the test of call_sites.py: an import that its tables do not know. */
int cudaUnheardOf(void);
int devsan_call_unheard_of(void);

int devsan_call_unheard_of(void) {
  return cudaUnheardOf() + 1;
}
