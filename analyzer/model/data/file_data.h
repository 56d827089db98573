// Where the data of one file's parameters, members and results come from: what a finding in another
// file needs to know of a tensor that it was handed.
#pragma once

#include "analyzer/model/data/data_holder.h"

#include <vector>

namespace devsan::analyzer {

class DeviceModel;

struct FileData {
  struct Source {
    enum class Kind {
      kHost,
      kHolder,
      kOfDevice, // made on, or moved to, the device that a holder has
      kDevice,
      kParameter, // of the function whose result it is
      kOther,
    };
    unsigned holder; // index of `holders`
    Kind kind;
    unsigned from = 0; // kHolder, kOfDevice: index of `holders`

    bool hasFrom() const { return kind == Kind::kHolder || kind == Kind::kOfDevice; }

    auto operator<=>(const Source &) const = default;
  };
  std::vector<DataHolder> holders;
  std::vector<Source> sources;
};

FileData collectData(DeviceModel &model);

} // namespace devsan::analyzer
