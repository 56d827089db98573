// The same finding in several processes or reports is one finding. The runtime's analysis hands in
// the findings process by process, `devsan report --merge` report by report; what is kept does not
// grow with their number. Not for use from several threads at once.
#pragma once

#include "core/finding/finding.h"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace devsan::core {

class Merger {
public:
  // The findings of one process or report. Two are the same where rule, place, operator and kinds
  // of devices are: cuda:0 on rank 0 and cuda:1 on rank 1 stand for each other. Several of one
  // process that differ in nothing else are matched in the order of their content. The worse one,
  // else the earlier, keeps its message, stack and devices.
  void add(std::vector<Finding> findings);

  // In the order in which they first came.
  std::vector<Finding> take();

private:
  std::vector<Finding> findings_;
  std::map<std::string, std::size_t, std::less<>> indices_;
  std::size_t with_stack_ = 0;
};

// The ranks that the shares name, ascending.
std::vector<int> ranksIn(std::span<const RankShare> shares);

// "on all 8 ranks", "on ranks 1–7 only", "in 4 worker processes": where a finding was seen, of
// `all_ranks` that were looked at. Empty where there was only one process to see it in.
std::string whereSeen(const Finding &finding, std::span<const int> all_ranks);

} // namespace devsan::core
