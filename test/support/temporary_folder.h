// A folder of a test's own, removed with it: tests run at the same time, in processes of their own.
#pragma once

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include <gtest/gtest.h>

namespace devsan::test {

class TemporaryFolder {
public:
  TemporaryFolder() {
    std::string pattern = ::testing::TempDir() + "devsan-test-XXXXXX";
    if (!mkdtemp(pattern.data()))
      throw std::system_error(errno, std::generic_category(), pattern);
    path_ = std::filesystem::canonical(pattern);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;

  const std::filesystem::path &path() const { return path_; }

private:
  std::filesystem::path path_;
};

} // namespace devsan::test
