// Nothing is reported in sources that no build takes.
// RUN: rm -rf %t && mkdir %t
// RUN: %python %S/built_spellings.py %t %devsan_check --torch=none --no-cache -j1 -- -isystem %mock
