#include "core/whole_file.h"
#include "test/support/temporary_folder.h"

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>

namespace devsan::core {
namespace {

namespace fs = std::filesystem;

class WholeFile : public testing::Test {
protected:
  static Result<void> write(const fs::path &path, const std::string &text) {
    return writeFile(path, [&](std::ostream &out) { out << text; });
  }
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  test::TemporaryFolder temporary_;
  const fs::path &folder_ = temporary_.path();
};

TEST_F(WholeFile, ReplacesWhatIsThere) {
  ASSERT_TRUE(write(folder_ / "a", "long before"));
  fs::permissions(folder_ / "a", fs::perms::owner_read | fs::perms::owner_write);
  ASSERT_TRUE(write(folder_ / "a", "after"));
  EXPECT_EQ(readFile(folder_ / "a").value(), "after");
  EXPECT_EQ(fs::status(folder_ / "a").permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(files(), 1u);
}

TEST_F(WholeFile, KeepsWhatIsThereWhereItFails) {
  ASSERT_TRUE(write(folder_ / "a", "before"));
  const Result<void> written = writeFile(folder_ / "a", [](std::ostream &out) {
    out << "half";
    out.setstate(std::ios::badbit);
  });
  ASSERT_FALSE(written);
  EXPECT_EQ(readFile(folder_ / "a").value(), "before");
  EXPECT_EQ(files(), 1u);
}

TEST_F(WholeFile, KeepsLinks) {
  ASSERT_TRUE(write(folder_ / "a", "before"));
  fs::create_symlink(folder_ / "a", folder_ / "link");
  ASSERT_TRUE(write(folder_ / "link", "after"));
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_EQ(readFile(folder_ / "a").value(), "after");
}

TEST_F(WholeFile, NamesFileAndReason) {
  EXPECT_EQ(write("/dev/full", "text").error().message,
            "cannot write /dev/full: No space left on device");
  EXPECT_EQ(write("/no/such/folder/a", "text").error().message,
            "cannot write /no/such/folder/a: No such file or directory");
  EXPECT_EQ(readFile("/no/such").error().message,
            "cannot read /no/such: No such file or directory");
  EXPECT_EQ(readFile("/").error().message, "cannot read /: it is a directory");
}

} // namespace
} // namespace devsan::core
