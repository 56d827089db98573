// What becomes of the state that a class keeps in its members, tensors and modules: where it is
// made, whether it is registered, whether it follows to another device. A member is judged by what
// all methods do to it, so the class has to be complete.
#pragma once

#include "analyzer/facts/value.h"

namespace devsan::analyzer {

// What the methods of a class do to one member.
struct MemberState {
  Variable field;
  bool submodule = false;       // a module; else a tensor or several
  bool several = false;         // modules in a container
  bool is_tensor = false;       // one, not several
  Code initialised = {};        // the factory that made it, or the value, in the constructor
  Place initial = {};           // where it was then
  Code combined = {};           // where it first meets another tensor
  std::vector<Code> sites = {}; // every value that the constructors gave it, as written
  bool read_on_host = false;    // by an accessor, or an operator with host tensors
  bool meets_others = false;    // that are not known to be on the host
  bool registered = false;
  bool rebound = false; // set to another tensor by a method
  bool follows = false; // moved, or made anew on the device of what comes in
};

// What a module has that its owner's to(), train() and checkpoints have to reach.
struct ModuleState {
  bool tensors = false;         // parameters or buffers, its own or of its parts
  bool depends_on_mode = false; // computes something else after eval()

  bool isEmpty() const { return !tensors && !depends_on_mode; }
  ModuleState &add(const ModuleState &other) {
    tensors |= other.tensors;
    depends_on_mode |= other.depends_on_mode;
    return *this;
  }
};

struct ClassFacts {
  Class id;
  std::string name;
  bool is_module = false; // else a metric
  // That hold tensors or, in a module, modules. Empty where code that this file does not have may
  // register them.
  std::vector<MemberState> members;
};

} // namespace devsan::analyzer
