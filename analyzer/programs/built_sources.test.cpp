// Nothing is reported in sources that no build takes.
// RUN: rm -rf %t && mkdir %t
// RUN: env XDG_CACHE_HOME=%t/cache %python %S/built_spellings.py %t %devsan_check --torch=none -j1 -- -isystem %mock
