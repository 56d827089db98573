#include "command/install/real_driver.h"

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>

namespace devsan::command {
namespace {

namespace fs = std::filesystem;

class RealDriver : public testing::Test {
protected:
  RealDriver() {
    std::string pattern = fs::temp_directory_path() / "devsan-driver-XXXXXX";
    root_ = mkdtemp(pattern.data());
  }
  ~RealDriver() override { fs::remove_all(root_); }

  fs::path write(const fs::path &file, const std::string &content = "") const {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file, std::ios::binary) << content;
    return root_ / file;
  }

  fs::path root_;
};

TEST_F(RealDriver, IsAbsentWithoutTraces) {
  EXPECT_EQ(realDriver(root_), "");
  write("usr/lib/x86_64-linux-gnu/libcudart.so.12");
  write("usr/local/cuda/lib64/stubs/libcuda.so");
  write("etc/ld.so.cache", std::string("\0/usr/lib/libcudart.so.12\0/usr/lib/libcuda.so.11\0", 49));
  EXPECT_EQ(realDriver(root_), "");
}

TEST_F(RealDriver, IsNamedByItsDevices) {
  for (const char *file :
       {"dev/nvidiactl", "dev/nvidia0", "proc/driver/nvidia/version", "dev/dxg"}) {
    const fs::path trace = write(file);
    EXPECT_EQ(realDriver(root_), trace);
    fs::remove(trace);
  }
}

TEST_F(RealDriver, IsNamedByItsLibrary) {
  const fs::path library = write("usr/lib/x86_64-linux-gnu/libcuda.so.1");
  EXPECT_EQ(realDriver(root_), library);
}

TEST_F(RealDriver, IsNamedByTheLoadersCache) {
  const std::string cache("ld.so\0libcuda.so.1\0/opt/driver/libcuda.so.1\0/usr/lib/libm.so.6\0",
                          64);
  write("etc/ld.so.cache", cache);
  EXPECT_EQ(realDriver(root_), "/opt/driver/libcuda.so.1");
}

} // namespace
} // namespace devsan::command
