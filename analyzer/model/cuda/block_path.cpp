#include "analyzer/model/cuda/block_path.h"

namespace devsan::analyzer {

using namespace clang;

bool areAlternatives(const BlockPath &one, const BlockPath &other) {
  const Stmt *parting = nullptr;
  for (std::size_t i = 0; i < one.size() && i < other.size() && one[i].block == other[i].block; ++i)
    parting = one[i].statement == other[i].statement ? one[i].statement : nullptr;
  return isa_and_nonnull<IfStmt, SwitchStmt>(parting);
}

} // namespace devsan::analyzer
