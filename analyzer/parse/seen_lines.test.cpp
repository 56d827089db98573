// The summary says how much of a file was seen: not what clang dropped, nor what is behind a condition that does not hold.
// RUN: rm -rf %t && mkdir -p %t && cp %s %t/a.cpp
// RUN: echo '#include "absent.h"' > %t/b.cpp && echo '#include "other/absent.h"' >> %t/b.cpp && echo 'int whole() { return 1; }' >> %t/b.cpp
// RUN: %devsan_check --no-cache --torch=none --checks=device-host-sync %t/a.cpp -- | FileCheck %s --check-prefix=ONE
// ONE: note: {{.*}}a.cpp: parsed in part, not found: absent.h, one.h, two.h and 1 more header; 1 error, the first: {{.*}}; 70 % of its lines were seen
// RUN: %devsan_check --no-cache --torch=none --checks=device-host-sync %t/a.cpp %t/b.cpp -- | FileCheck %s --check-prefix=TWO
// TWO: note: 2 files parsed in part: 72 % of their lines were seen; not found: absent.h (2 files), one.h (1 file), other/absent.h (1 file)
// TWO: note: {{.*}}b.cpp: parsed in part, not found: absent.h, other/absent.h; 100 % of its lines were seen
#include "absent.h"
#include "one.h"
#include "two.h"
#include "three.h"

int seen(int x) {
  int y = x;
  return y + 1;
}

#ifdef SOMETHING_ELSE
int behind(int x) { return x; }
#endif

struct Kept {
  missing::Type member;
};

int dropped(int x) {
  for (int y : x)
    seen(y);
  return x;
}
