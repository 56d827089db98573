/* Programs built with glibc 2.34 leave it to glibc to run their constructors; older glibcs wait to
 * be told how. */
#include <stddef.h>

typedef void Function(int, char **, char **);
extern Function *__init_array_start[] __attribute__((visibility("hidden"))),
    *__init_array_end[] __attribute__((visibility("hidden")));
extern void _init(void) __attribute__((visibility("hidden")));

static void construct(int count, char **arguments, char **environment) {
  _init();
  for (Function **each = __init_array_start; each != __init_array_end; ++each)
    (*each)(count, arguments, environment);
}

extern int __real___libc_start_main(int (*)(int, char **, char **), int, char **, Function *,
                                    void (*)(void), void (*)(void), void *);
/* The loader runs the destructors, on all of them. */
__attribute__((visibility("hidden"))) int
__wrap___libc_start_main(int (*program)(int, char **, char **), int count, char **arguments,
                         Function *unused, void (*finish)(void), void (*loader)(void),
                         void *stack) {
  (void)unused;
  return __real___libc_start_main(program, count, arguments, construct, finish, loader, stack);
}
