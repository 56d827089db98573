// Data that a function finds on the host because of others in its file, where the file alone
// decides: parameters of functions that no other file can call, and private members.
#pragma once

#include "analyzer/model/data/project_data.h"

namespace devsan::analyzer {

class HostData {
public:
  explicit HostData(DeviceModel &model);

  // Parameters of the function, and members of its class.
  std::vector<Path> of(const clang::FunctionDecl *function) const;

private:
  bool isWholeClassHere(const clang::CXXRecordDecl *owner) const;

  DeviceModel &model_;
  ProjectData data_; // of this file
};

} // namespace devsan::analyzer
