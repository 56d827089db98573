#include "free_blocks.h"

#include "runtime/sim/memory/arena.h"

namespace devsan::sim {

void FreeBlocks::insert(Block *block) {
  // From the place in the arena, so that a run repeats itself wherever the arena lies.
  auto place = reinterpret_cast<std::uintptr_t>(block->data) - arena_layout.begin;
  block->priority_ = static_cast<std::uint32_t>((place / 512 * 0x9e3779b97f4a7c15ull) >> 32);
  Block **link = &root_;
  while (*link != nullptr && (*link)->priority_ >= block->priority_)
    link = before(block, *link) ? &(*link)->left_ : &(*link)->right_;
  // What was here is divided into the block's two sides.
  Block *tree = *link, **left = &block->left_, **right = &block->right_;
  *link = block;
  while (tree != nullptr) {
    if (before(tree, block)) {
      *left = tree;
      left = &tree->right_;
      tree = tree->right_;
    } else {
      *right = tree;
      right = &tree->left_;
      tree = tree->left_;
    }
  }
  *left = *right = nullptr;
}

void FreeBlocks::erase(Block *block) {
  Block **link = &root_;
  while (*link != block)
    link = before(block, *link) ? &(*link)->left_ : &(*link)->right_;
  Block *left = block->left_, *right = block->right_;
  while (left != nullptr && right != nullptr) {
    if (left->priority_ >= right->priority_) {
      *link = left;
      link = &left->right_;
      left = left->right_;
    } else {
      *link = right;
      link = &right->left_;
      right = right->left_;
    }
  }
  *link = left != nullptr ? left : right;
  block->left_ = block->right_ = nullptr;
}

Block *FreeBlocks::smallestAtLeast(std::size_t size) const {
  Block *best = nullptr;
  for (Block *tree = root_; tree != nullptr;) {
    if (tree->size >= size) {
      best = tree;
      tree = tree->left_;
    } else {
      tree = tree->right_;
    }
  }
  return best;
}

} // namespace devsan::sim
