#include "core/finding/cost.h"
#include "core/finding/ownership.h"

#include <gtest/gtest.h>

namespace devsan::core {
namespace {

Frame frame(std::string file, std::string module = {}, bool user = true) {
  return {{std::move(file), 3, 0, "f"}, std::move(module), user};
}

Finding inside(std::vector<Frame> stack) {
  Finding finding;
  finding.rule = "device-host-sync";
  if (!stack.empty())
    finding.locations = {stack.front().location};
  finding.stack = std::move(stack);
  Ownership().mark({&finding, 1});
  return finding;
}

TEST(Ownership, OwnIsWhatIsNotInstalled) {
  for (const Frame &own : {frame("train.py"), frame("/elsewhere/train.py"), frame("<string>"),
                           frame("csrc/op.cpp", "/env/lib/site-packages/ext/_C.so"),
                           frame("/src/main.cpp", "/src/build/main"), frame("", "/src/build/main"),
                           frame("bin/train.py"), frame("")})
    EXPECT_TRUE(inside({own}).stack.front().own) << own.location.file << " " << own.module;
  for (const Frame &other :
       {frame(".venv/lib/python3.11/site-packages/lightning/trainer.py"),
        frame("/usr/lib/python3/dist-packages/x.py"), frame("/env/bin/torchrun"),
        frame("/usr/include/eigen3/Eigen/Core", "/src/build/main"),
        frame("/build/vision/nms.cpp", "/env/lib/site-packages/torchvision/_C.so"),
        frame("", "/usr/local/lib/libx.so"), frame("<eval_with_key>.3"),
        frame("/tmp/torchinductor_me/ab/c.py"), frame("train.py", "", false)})
    EXPECT_FALSE(inside({other}).stack.front().own) << other.location.file << " " << other.module;
}

TEST(Ownership, GlobsSayIt) {
  Finding finding;
  finding.stack = {frame("/env/site-packages/mine/a.py"), frame("vendor/b.py"), frame("src/c.py")};
  Ownership({"src", "*/mine/*"}).mark({&finding, 1});
  EXPECT_TRUE(finding.stack[0].own);
  EXPECT_FALSE(finding.stack[1].own);
  EXPECT_TRUE(finding.stack[2].own);
}

TEST(Ownership, NamesTheLibraryThatNoOwnCodeCalled) {
  const Frame lightning = frame("/env/site-packages/lightning/trainer.py");
  const Frame torch = frame("/env/site-packages/torch/_inductor/a.py", "", false);
  const Frame native = frame("", "/env/lib/libtorch_cpu.so", false);
  EXPECT_EQ(inside({native, lightning, torch}).library, "lightning");
  EXPECT_EQ(inside({native, torch}).library, "torch");
  EXPECT_EQ(inside({lightning, frame("train.py")}).library, "");
  EXPECT_EQ(inside({lightning, frame("")}).library, ""); // cut
  // Nobody knows who called.
  EXPECT_EQ(inside({native}).library, "");
  EXPECT_EQ(inside({}).library, "");
  Finding made_here;
  made_here.stack = {lightning};
  made_here.related = {{{"train.py", 3, 0, "f"}, "made here"}};
  Ownership().mark({&made_here, 1});
  EXPECT_EQ(made_here.library, "");
}

TEST(Ownership, OwnStandsBeforeWhatCostsMore) {
  Finding own = inside({frame("train.py")});
  Finding grave = inside({frame("/env/site-packages/lightning/trainer.py")});
  grave.severity = Severity::kError;
  std::vector findings = {grave, own};
  rankByCost(findings, {});
  EXPECT_EQ(findings.front().library, "");
}

} // namespace
} // namespace devsan::core
