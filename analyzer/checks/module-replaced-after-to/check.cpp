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
        report(part);
  }

private:
  void report(const ReplacedPart &part) {
    std::string module = "'" + part.module.text() + "'";
    std::string where = part.moved ? " on line " + std::to_string(lineOf(part.moved)) : "";
    if (part.loaded)
      diag(locationOf(part.expr),
           "'%0' puts parameters on the device they were saved on, after %1 was moved%2: pass the "
           "device to load(), or call .to(device) afterwards")
          << spelling(part.expr) << module << where << part.expr->getSourceRange();
    else if (part.inner)
      diag(
          locationOf(part.expr),
          "'%0' replaces a part of %1, which was moved%2, and leaves the new part on the CPU: call "
          ".to(device) on it")
          << spelling(part.expr) << module << where << part.expr->getSourceRange();
    else
      diag(locationOf(part.expr),
           "'%0' adds a part on the CPU to %1, which was moved%2: %1 is on two devices now; call "
           ".to(device) on the new part, or on %1 afterwards")
          << spelling(part.expr) << module << where << part.expr->getSourceRange();
    if (part.inner)
      diag(locationOf(part.inner), "the part is replaced here", DiagnosticIDs::Note)
          << part.inner->getSourceRange();
    if (part.moved)
      diag(locationOf(part.moved), "%0 is moved here", DiagnosticIDs::Note)
          << module << part.moved->getSourceRange();
  }
};

} // namespace

} // namespace devsan::analyzer

DEVSAN_REGISTER_CHECK(ModuleReplacedAfterToCheck, module_replaced_after_to)
