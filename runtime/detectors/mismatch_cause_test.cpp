// The three rules that explain a refusal are tested together: each test says which one answers, and
// that the others are silent.
#include "runtime/detectors/detector.h"
#include "runtime/read/testing/log_builder.h"

#include <gtest/gtest.h>

namespace devsan::runtime {
namespace {

using namespace testing;

class Refusal {
public:
  Refusal() {
    event_.kind = EventKind::kMismatch;
    event_.group = 1;
    event_.from = kHost;
    event_.to = cuda(0);
    event_.op = log_.string("aten::addmm");
    event_.operand = log_.string("weight: float32 [10, 4]");
  }

  Refusal &used(std::initializer_list<TestFrame> frames) {
    event_.stack = log_.stack(frames);
    return *this;
  }
  Refusal &made(std::initializer_list<TestFrame> frames) {
    event_.related = log_.stack(frames);
    return *this;
  }
  Refusal &flags(std::uint32_t flags) {
    event_.flags = flags;
    return *this;
  }
  Refusal &odd(DeviceId from, DeviceId to) {
    event_.from = from;
    event_.to = to;
    return *this;
  }
  Refusal &group(std::uint64_t group) {
    event_.group = group;
    return *this;
  }
  Refusal &refuse(int operands = 1) {
    for (int i = 0; i < operands; ++i) {
      event_.current_device = static_cast<std::int8_t>(i);
      log_.add(event_);
    }
    return *this;
  }
  Refusal &moduleMovedTo(DeviceId device, std::initializer_list<TestFrame> made = {}) {
    Event event;
    if (made.size() != 0)
      event.related = log_.stack(made);
    event.kind = EventKind::kCopy;
    event.from = kHost;
    event.to = device;
    event.stack = log_.stack({op("to_dtype_layout"),
                              torch("torch::nn::Module::to(c10::Device, bool)"), user("main", 2)});
    log_.add(event);
    return *this;
  }

  // The only finding, which every test expects.
  core::Finding finding() const {
    const std::vector<core::Finding> all = detectAll(replay(log_));
    EXPECT_EQ(all.size(), 1u);
    return all.empty() ? core::Finding() : all.front();
  }

private:
  LogBuilder log_;
  Event event_;
};

Refusal forward() {
  Refusal refusal;
  refusal.used({op("addmm"), op("linear"), user("Net::forward(at::Tensor)", 30), user("main", 9)});
  return refusal;
}

TEST(Mismatch, IsAReplacedPartWhereAParameterOfAMovedModuleStayed) {
  const core::Finding finding =
      forward().moduleMovedTo(cuda(0)).flags(kLeafParameter).refuse().finding();
  EXPECT_EQ(finding.rule, "device-module-replaced-after-to");
  EXPECT_EQ(finding.severity, core::Severity::kError);
  EXPECT_EQ(
      finding.message,
      "the module was moved to cuda:0, but parameters (weight: float32 [10, 4]) stayed on cpu: "
      "aten::linear refused once");
  EXPECT_EQ(finding.locations[0].line, 30u);
}

TEST(Mismatch, IsNoReplacedPartWhereNoModuleWasMovedThere) {
  EXPECT_EQ(forward().flags(kLeafParameter).refuse().finding().rule, "device-mismatch");
  EXPECT_EQ(forward().moduleMovedTo(cuda(1)).flags(kLeafParameter).refuse().finding().rule,
            "device-mismatch");
}

TEST(Mismatch, IsNoReplacedPartWhereTheParametersAreTheOthers) {
  const core::Finding finding =
      forward().moduleMovedTo(cuda(0)).flags(kLeafParameter).odd(cuda(0), kHost).refuse().finding();
  EXPECT_EQ(finding.rule, "device-mismatch");
}

TEST(Mismatch, OneRefusalIsOneFinding) {
  const core::Finding finding =
      forward().moduleMovedTo(cuda(0)).refuse().flags(kLeafParameter).refuse(2).finding();
  EXPECT_EQ(finding.rule, "device-module-replaced-after-to");
  EXPECT_EQ(finding.count, 1u);
  EXPECT_NE(finding.message.find("(weight: float32 [10, 4], weight: float32 [10, 4])"),
            std::string::npos);
}

TEST(Mismatch, RefusalsAtOnePlaceAreCounted) {
  EXPECT_EQ(forward().refuse().group(2).refuse().group(3).refuse().finding().count, 3u);
}

// Net's parameters, some of which were moved; one was made in `maker` and stayed.
Refusal partOf(const char *user_class, const char *maker) {
  Refusal refusal;
  refusal.made({op("empty"), user(maker, 6), user("main", 1)});
  refusal.moduleMovedTo(cuda(0), {op("empty"), user("Net::Net()", 5), user("main", 1)});
  refusal.used({op("addmm"), op("linear"),
                user(std::string(user_class) + "::forward(at::Tensor)", 30), user("main", 9)});
  refusal.flags(kLeafParameter);
  return refusal;
}

TEST(Mismatch, IsAnUnregisteredPartWhereItsClassHadOthersMoved) {
  const core::Finding finding = partOf("Net", "Net::Net()").refuse().finding();
  EXPECT_EQ(finding.rule, "device-unregistered-state");
  EXPECT_EQ(finding.message, "parameters that no module has registered (weight: float32 [10, 4]) "
                             "stayed on cpu while its inputs are on cuda:0: aten::linear refused "
                             "once");
  EXPECT_NE(finding.remedy.find("register_parameter(name, tensor)"), std::string::npos);
}

TEST(Mismatch, IsAReplacedPartWhereAMovedClassUsesIt) {
  EXPECT_EQ(partOf("Net", "makeHead()").refuse().finding().rule, "device-module-replaced-after-to");
}

TEST(Mismatch, IsNeitherWhereNobodyMovedTheModule) {
  EXPECT_EQ(partOf("Decoder", "Decoder::Decoder()").refuse().finding().rule, "device-mismatch");
}

TEST(Mismatch, IsALostIndexWhereTheCallNamedNone) {
  Refusal refusal = forward();
  refusal.made({op("zeros"), user("makeMask()", 5), user("main", 4)});
  refusal.odd(cuda(0), cuda(1)).flags(kOriginWithoutIndex);
  const core::Finding finding = refusal.refuse().finding();
  EXPECT_EQ(finding.rule, "device-index-lost");
  EXPECT_EQ(finding.message,
            "a tensor (weight: float32 [10, 4]) was made on the current device, cuda:0, by a call "
            "that gives no index, and the others are on cuda:1: aten::linear refused once");
}

Refusal update() {
  Refusal refusal;
  refusal.used({op("add__Tensor"), user("Pearson::update(at::Tensor)", 12), user("main", 9)});
  return refusal;
}

TEST(Mismatch, IsAStateWhereAnotherMethodOfItsClassMadeIt) {
  const core::Finding finding =
      update()
          .made({op("zeros"), user("Pearson::Pearson()", 5), user("main", 4)})
          .refuse()
          .finding();
  EXPECT_EQ(finding.rule, "device-unregistered-state");
  EXPECT_EQ(finding.message,
            "a state made earlier (weight: float32 [10, 4]) stayed on cpu while its inputs are on "
            "cuda:0: aten::add_ refused once");
  EXPECT_EQ(finding.locations[0].line, 12u);
  ASSERT_EQ(finding.related.size(), 1u);
  EXPECT_EQ(finding.related[0].location.line, 5u);
  EXPECT_EQ(finding.related[0].message, "made on cpu here");
}

TEST(Mismatch, IsAStateInPython) {
  Refusal refusal;
  refusal.used({op("add__Tensor"), python("_pearson_update", 40), python("Pearson.update", 12),
                python("<module>", 9)});
  refusal.made({op("zeros"), python("Pearson.__init__", 5), python("<module>", 4)});
  EXPECT_EQ(refusal.refuse().finding().rule, "device-unregistered-state");
}

TEST(Mismatch, IsAStateOfALocalClass) {
  Refusal refusal;
  refusal.used({op("add__Tensor"), user("(anonymous namespace)::Pearson::update(at::Tensor)", 12),
                user("main", 9)});
  refusal.made(
      {op("zeros"), user("(anonymous namespace)::Pearson::Pearson()", 5), user("main", 4)});
  EXPECT_EQ(refusal.refuse().finding().rule, "device-unregistered-state");
}

TEST(Mismatch, IsNoStateWhereAHelperMadeABatch) {
  EXPECT_EQ(
      update().made({op("randn"), user("makeBatch()", 5), user("main", 4)}).refuse().finding().rule,
      "device-mismatch");
}

TEST(Mismatch, IsNoStateWhereOnlyTheNamespaceIsShared) {
  Refusal refusal;
  refusal.used(
      {op("add__Tensor"), user("(anonymous namespace)::update(at::Tensor)", 12), user("main", 9)});
  refusal.made({op("zeros"), user("(anonymous namespace)::makeBatch()", 5), user("main", 4)});
  EXPECT_EQ(refusal.refuse().finding().rule, "device-mismatch");
}

TEST(Mismatch, IsAStateOfAClassInSmallLetters) {
  Refusal refusal;
  refusal.used(
      {op("add__Tensor"), user("stats::pearson::update(at::Tensor)", 12), user("main", 9)});
  refusal.made({op("zeros"), user("stats::pearson::pearson()", 5), user("main", 4)});
  EXPECT_EQ(refusal.refuse().finding().rule, "device-unregistered-state");
}

TEST(Mismatch, IsNoStateWhereTheMakerStillRuns) {
  EXPECT_EQ(update()
                .made({op("zeros"), user("Pearson::update(at::Tensor)", 11), user("main", 9)})
                .refuse()
                .finding()
                .rule,
            "device-mismatch");
}

TEST(Mismatch, IsNoStateWhereItWasMovedToTheHost) {
  const core::Finding finding =
      update()
          .made({op("cpu"), user("Pearson::Pearson()", 5), user("main", 4)})
          .flags(kOriginIsMove)
          .refuse()
          .finding();
  EXPECT_EQ(finding.rule, "device-mismatch");
  EXPECT_EQ(finding.related[0].message, "moved to cpu here");
}

TEST(Mismatch, SaysWhatIsKnownWithoutAnOrigin) {
  const core::Finding finding = update().refuse().finding();
  EXPECT_EQ(finding.rule, "device-mismatch");
  EXPECT_EQ(
      finding.message,
      "aten::add_ got weight: float32 [10, 4] on cpu, the others on cuda:0, and refused once");
  EXPECT_TRUE(finding.related.empty());
}

} // namespace
} // namespace devsan::runtime
