/* Needs LibTorch, or a library that does, and nothing of it by name. */
int fakePlugin(void);
int fakePlugin(void) {
  return 0;
}
