// What LibTorch warns of in a scope, instead of on stderr.
#pragma once

#include <string>
#include <vector>

#include <c10/util/Exception.h>

namespace devsan::test {

class Warnings : public c10::WarningHandler {
public:
  void process(const c10::Warning &warning) override { messages_.push_back(warning.msg()); }
  const std::vector<std::string> &messages() const { return messages_; }

private:
  std::vector<std::string> messages_;
  c10::WarningUtils::WarningHandlerGuard guard_{this};
};

} // namespace devsan::test
