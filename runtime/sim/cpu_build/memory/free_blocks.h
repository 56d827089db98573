// Blocks of device memory, and the free ones of a pool in the order in which CUDA's allocator takes
// them: the smallest that is large enough, of equals the one at the lowest address. The order is a
// treap whose links lie in the blocks, so that taking and giving back allocate nothing. Guarded by
// the lock of the device that the blocks belong to.
#pragma once

#include <cstddef>
#include <cstdint>

namespace devsan::sim {

struct Segment;
struct StreamUses;

struct Block {
  char *data = nullptr; // device address
  std::size_t size = 0;
  std::size_t requested = 0;
  Segment *segment = nullptr;
  Block *previous = nullptr; // neighbours in the segment
  Block *next = nullptr;
  bool allocated = false;
  bool waits = false; // freed, and in use on other streams
  StreamUses *uses = nullptr;

  bool isSplit() const { return previous != nullptr || next != nullptr; }

private:
  friend class FreeBlocks;
  Block *left_ = nullptr, *right_ = nullptr;
  std::uint32_t priority_ = 0;
};

class FreeBlocks {
public:
  void insert(Block *block);
  void erase(Block *block);
  // nullptr where every block is smaller.
  Block *smallestAtLeast(std::size_t size) const;

  template <typename Visit> void forEach(Visit visit) const { walk(root_, visit); }

private:
  template <typename Visit> static void walk(Block *tree, Visit &visit) {
    if (tree == nullptr)
      return;
    walk(tree->left_, visit);
    visit(tree);
    walk(tree->right_, visit);
  }
  static bool before(const Block *a, const Block *b) {
    return a->size != b->size ? a->size < b->size : a->data < b->data;
  }

  Block *root_ = nullptr;
};

} // namespace devsan::sim
