#include "runtime/read/processes.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <unordered_map>

namespace devsan::runtime {

std::vector<ProcessRole> rolesOf(std::span<const FileHeader> headers) {
  std::vector<std::size_t> by_start(headers.size());
  std::iota(by_start.begin(), by_start.end(), std::size_t{0});
  std::ranges::sort(by_start, {},
                    [&](const std::size_t &i) { return std::tie(headers[i].start_time_ns, i); });
  std::vector<ProcessRole> roles(headers.size());
  std::unordered_map<std::uint32_t, std::size_t> by_pid; // the latest: numbers come again
  std::map<int, std::size_t> rank_itself;
  for (const std::size_t i : by_start) {
    const FileHeader &header = headers[i];
    ProcessRole &role = roles[i];
    const auto parent = by_pid.find(header.parent_pid);
    if (header.rank >= 0)
      role.rank = header.rank;
    else if (parent != by_pid.end())
      role.rank = roles[parent->second].rank;
    // A launcher's children are what it launches, even where the launcher has a log of its own, or
    // is a rank itself.
    const bool launched =
        header.rank >= 0 && parent != by_pid.end() && roles[parent->second].rank != header.rank;
    role.worker = (parent != by_pid.end() && !launched) ||
                  (role.rank && !rank_itself.try_emplace(*role.rank, i).second);
    by_pid[header.pid] = i;
  }
  return roles;
}

} // namespace devsan::runtime
