#include "core/system/file_glob.h"

#include <gtest/gtest.h>

namespace devsan::core {
namespace {

TEST(FileGlob, AsterisksMatchSlashesToo) {
  EXPECT_TRUE(coversFile("src/*.cpp", "src/a.cpp"));
  EXPECT_TRUE(coversFile("src/*.cpp", "src/deep/a.cpp"));
  EXPECT_TRUE(coversFile("*.pb.cpp", "src/deep/a.pb.cpp"));
  EXPECT_FALSE(coversFile("src/*.cpp", "lib/src/a.cpp"));
  EXPECT_FALSE(coversFile("src/?.cpp", "src/ab.cpp"));
}

TEST(FileGlob, AFolderStandsForAllThatLiesInIt) {
  for (const char *folder : {"vendor", "vendor/", "/project/vendor", "*/vendor/"}) {
    const std::string root = folder[0] == 'v' ? "" : "/project/";
    EXPECT_TRUE(coversFile(folder, root + "vendor/lib/a.cpp")) << folder;
    EXPECT_FALSE(coversFile(folder, root + "vendored/a.cpp")) << folder;
  }
}

} // namespace
} // namespace devsan::core
