// What the device model knows of a value: a lattice of places, and where the data came from. Pure
// data; the transfer functions that compute it are in analyzer/model/flow.cpp, the rules that judge
// it under checks/.
#pragma once

#include "analyzer/facts/handle.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace devsan::analyzer {

std::string lower(std::string_view text);

// A variable, or a member reached from one: `x`, `batch.data`, `model->fc`, `this->state_` (root
// null). Or a function, for what it returns. Elements of containers are not told apart: they share
// their container's path.
struct Path {
  Variable root;
  std::vector<Variable> fields;

  auto operator<=>(const Path &) const = default;
  bool startsWith(const Path &prefix) const;
  // What holds the data itself; null for `*this`.
  Variable last() const { return fields.empty() ? root : fields.back(); }
};

// Where a tensor or module lives, or which device a device or options value names.
struct Place {
  enum class Kind {
    kNone, // nothing known to be there: options without a device, an empty container, no tensor
    kDefaultHost, // made without naming a device: on the host
    kHost,        // put on the host explicitly, or checked to be there
    kOf,          // the device of that variable, whatever it is
    kFixed,       // "cuda:0": type and index are written down
    kIndexless,   // "cuda", kMPS: the current device of that type
    kElsewhere, // where code that is not in this file left it: what `of`, a function, returned, or
                // a member of something that it made
    kUnknown,
  };
  Kind kind = Kind::kNone;
  std::string_view type; // as c10::DeviceType's enumerator spells it: "CUDA"
  int index = -1;
  Path of;
  // Of one that is not spelled: on some way it is a device that the program names, or lets run time
  // choose.
  bool on_device = false;
  Code call = {}; // kElsewhere: the call that returned it; none where it may be one of several

  static Place none() { return {}; }
  static Place defaultHost() { return {Kind::kDefaultHost, {}, -1, {}}; }
  static Place host() { return {Kind::kHost, {}, -1, {}}; }
  static Place unknown() { return {Kind::kUnknown, {}, -1, {}}; }
  static Place chosen() { return {Kind::kUnknown, {}, -1, {}, true}; } // by run time
  static Place deviceOf(Path path) { return {Kind::kOf, {}, -1, std::move(path)}; }
  static Place elsewhere(Path path) { return {Kind::kElsewhere, {}, -1, std::move(path)}; }
  static Place returnedBy(Variable function, Code call) {
    return {Kind::kElsewhere, {}, -1, {function, {}}, false, call};
  }
  // Of a device type's enumerator; `index` below 0 where none is given. CPU gives kHost, Meta (no
  // data) kUnknown.
  static Place named(std::string_view type, int index);
  // Of "cuda:1", "mps"; none where the text names no device.
  static std::optional<Place> parse(std::string_view text);

  bool operator==(const Place &) const = default;
  bool is(Kind wanted) const { return kind == wanted; }
  bool isUnknown() const { return kind == Kind::kUnknown || kind == Kind::kElsewhere; }
  bool onHost() const { return kind == Kind::kHost || kind == Kind::kDefaultHost; }
  // A device that is not the host, or one that only run time tells.
  bool maybeOffHost() const { return kind == Kind::kOf || isSpelledDevice(); }
  // A device written down in the program and not taken from a tensor.
  bool isSpelledDevice() const { return kind == Kind::kFixed || kind == Kind::kIndexless; }
  bool isNamedDevice() const { return on_device || isSpelledDevice(); }
  // As at run time: "cpu", "cuda:0", "cuda" where the index is open. Empty where only that knows.
  std::string device() const;
};

Place join(const Place &a, const Place &b);

enum class Dtype { kUnknown, kBool, kIntegral, kFloating };

// Something that happened to the data on its way, and the expression where it did.
struct Origin {
  enum class Kind {
    kHostCopy,    // a copy of device data to the host
    kFactory,     // made by a factory that was given no device
    kHostScalar,  // made from a value in host memory: torch::tensor(v)
    kDeviceName,  // for devices and options: where the device is spelled
    kDeviceIndex, // for these: the index, where only run time tells it
    kDtypeOf,     // for options: the dtype was taken from a tensor there
    kGather,      // filled by a collective, without the autograd graph
    kNewModule,   // a module constructed there
    kLoaded,      // a module or tensor read from a file without a device
    kRegistered,  // passed through register_buffer or register_parameter
  };
  Kind kind;
  Code expr;

  bool operator==(const Origin &) const = default;
};

// Unique, in the order in which they were found: the first of a kind is the same in each run.
struct Origins : std::vector<Origin> {
  bool operator==(const Origins &other) const { return std::ranges::is_permutation(*this, other); }
};

struct Value {
  Place place;
  Origins origins = {};
  Dtype dtype = Dtype::kUnknown;
  bool zero_dim = false;  // ATen lets a 0-dim host tensor meet tensors of any device
  bool own_slice = false; // among gathered tensors, one that was not gathered
  bool no_grad = false;   // known to carry no autograd graph
  bool off_host = false;  // checked not to be on the host

  static Value unknown() { return {.place = Place::unknown()}; }

  bool operator==(const Value &) const = default;
  Code origin(Origin::Kind kind) const;
  bool has(Origin::Kind kind) const { return bool(origin(kind)); }
  Value &add(Origin::Kind kind, Code expr);
  Value &addAll(const Value &other);
  Value &drop(Origin::Kind kind);
};

// Where control flow meets: what holds on both ways.
Value join(const Value &a, const Value &b);

// What a copy of the data to that place gives.
Value moved(Value data, const Place &target, Code by);

// What an operator on these operands gives. ATen demands one device of them, so any operand whose
// device is known tells it for all.
Value combine(std::span<const Value> operands);

} // namespace devsan::analyzer
