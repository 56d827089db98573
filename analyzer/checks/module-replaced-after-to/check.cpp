#include "analyzer/check_registry.h"
#include "analyzer/model/device_check.h"

namespace devsan::analyzer {

namespace {

using namespace clang;

class ModuleReplacedAfterToCheck : public DeviceCheck {
public:
  using DeviceCheck::DeviceCheck;

protected:
  void examine(const FunctionFacts &facts) override {
    for (const ReplacedPart &part : facts.exit.replaced)
      // Where some path moves the part, the others may be the ones on which nothing has to be
      // moved.
      if (!facts.moved_later.contains(part.expr) && firstAt(part.expr))
        report(facts, part);
  }

private:
  void report(const FunctionFacts &facts, const ReplacedPart &part) {
    const std::string module = "'" + part.module.text() + "'";
    Diagnosis finding{.place = locationOf(part.expr),
                      .message = "'" + spelling(part.expr) + "' " + whatItDoes(part, module),
                      .range = part.expr->getSourceRange(),
                      .from = part.loaded ? "" : Place::host().device()};
    for (const Operation &operation : facts.operations)
      if (operation.kind == Operation::Kind::kMove && operation.expr == part.moved)
        finding.to = operation.target.place.device();
    if (part.inner)
      finding.related.push_back(
          {locationOf(part.inner), "the part is replaced here", part.inner->getSourceRange()});
    if (part.moved)
      finding.related.push_back(
          {locationOf(part.moved), module + " is moved here", part.moved->getSourceRange()});
    diagnose(std::move(finding));
  }

  std::string whatItDoes(const ReplacedPart &part, const std::string &module) {
    const std::string where = part.moved ? " on line " + std::to_string(lineOf(part.moved)) : "";
    if (part.loaded)
      return "puts parameters on the device they were saved on, after " + module + " was moved" +
             where + ": pass the device to load(), or call .to(device) afterwards";
    if (part.inner)
      return "replaces a part of " + module + ", which was moved" + where +
             ", and leaves the new part on the CPU: call .to(device) on it";
    return "adds a part on the CPU to " + module + ", which was moved" + where + ": " + module +
           " is on two devices now; call .to(device) on the new part, or on " + module +
           " afterwards";
  }
};

} // namespace

} // namespace devsan::analyzer

DEVSAN_REGISTER_CHECK(ModuleReplacedAfterToCheck, module_replaced_after_to)
