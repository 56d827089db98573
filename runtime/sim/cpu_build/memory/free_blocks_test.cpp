// The order of free blocks against the standard library's set. Compiled with its own copy of
// free_blocks.cpp: the simulator's is not visible outside of its library.
#include "free_blocks.h"

#include <random>
#include <set>
#include <tuple>

#include <gtest/gtest.h>

#include "runtime/sim/memory/arena.h"

namespace devsan::sim {

ArenaLayout arena_layout;

namespace {

struct InOrder {
  bool operator()(const Block *a, const Block *b) const {
    return std::tie(a->size, a->data) < std::tie(b->size, b->data);
  }
};

TEST(FreeBlocks, AgreeWithAnOrderedSet) {
  std::mt19937 random(1);
  std::vector<Block> blocks(500);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    blocks[i].data = reinterpret_cast<char *>((i + 1) * 4096);
    blocks[i].size = 512 * (1 + random() % 20);
  }
  FreeBlocks free;
  std::set<Block *, InOrder> expected;
  for (int step = 0; step < 20000; ++step) {
    Block *block = &blocks[random() % blocks.size()];
    if (expected.erase(block))
      free.erase(block);
    else if (expected.insert(block).second)
      free.insert(block);
    Block key;
    key.size = 512 * (random() % 22);
    auto found = expected.lower_bound(&key);
    EXPECT_EQ(free.smallestAtLeast(key.size), found == expected.end() ? nullptr : *found);
  }
  std::vector<Block *> walked;
  free.forEach([&](Block *block) { walked.push_back(block); });
  EXPECT_EQ(walked, std::vector<Block *>(expected.begin(), expected.end()));
}

} // namespace
} // namespace devsan::sim
