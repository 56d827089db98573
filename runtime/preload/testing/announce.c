/* A library that says on stdout that it was loaded; NAME and the rest come from the build. */
#include <stdio.h>
#include <unistd.h>

__attribute__((constructor)) static void announce(void) {
  static const char text[] = "loaded " NAME "\n";
  (void)!write(STDOUT_FILENO, text, sizeof text - 1);
}

int announced(void) {
  return 1;
}
