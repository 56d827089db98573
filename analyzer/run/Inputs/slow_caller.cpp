// Takes minutes to parse.
void launchScale(int x);
constexpr unsigned spin(unsigned n) {
  unsigned total = 0;
  for (unsigned i = 0; i < n; ++i)
    total += i;
  return total;
}
template <unsigned N> struct Slow {
  static constexpr unsigned value = spin(900'000 + N) + Slow<N - 1>::value;
};
template <> struct Slow<0> {
  static constexpr unsigned value = 0;
};
unsigned slow() { return Slow<800>::value; }
void call() { launchScale(1); }
