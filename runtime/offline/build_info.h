// What this build was made with, for `devsan doctor`.
#pragma once

#include <string_view>

namespace devsan::runtime {

struct BuildInfo {
  std::string_view torch_version;
  std::string_view python;
};

BuildInfo buildInfo();

} // namespace devsan::runtime
