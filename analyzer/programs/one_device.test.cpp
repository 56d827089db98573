// A program that uses one device and its default stream has no bugs that need another: nobody in it chooses one. What is not
// understood may choose any, and so may who calls a library.
// RUN: rm -rf %t && mkdir %t
// RUN: env XDG_CACHE_HOME=%t/cache %python %S/device_spellings.py %t %devsan_check --torch=none -j1 -- -isystem %mock
