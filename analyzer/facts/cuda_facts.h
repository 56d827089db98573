// What a file does with streams, copies beside the host, and things that belong to one device. Data
// only, as the facts of a function are.
#pragma once

#include "analyzer/facts/handle.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace devsan::analyzer {

// A function of the file that CUDA's runtime may matter to.
struct CudaFunction {
  Function id;
  bool is_main = false;
  bool touches_tensors = false;
  // It, or a caller, has a tensor; or the callers are elsewhere, in a program that uses LibTorch.
  bool serves_tensors = false;
  // The file knows nothing of LibTorch, but others of the program may, and are looked at too.
  bool may_serve_others = false;
  bool works_on_devices = false;      // has tensors, launches, is given a stream
  bool uses_cuda = false;             // launches, sets the device, takes a stream
  bool is_thread_entry = false;       // nothing but new threads runs it
  bool guarded_by_dispatcher = false; // LibTorch sets the device before it calls it
  bool callers_guard = false;         // all of them set the device before the call
  bool chooses_zero = false;          // sets device 0 on purpose
  Variable tensor = {};               // the first of its tensors
  Variable given_stream = {};         // by which its caller says which stream to work on
};

// Memory of a tensor is used on a stream that the function made, and nothing keeps it until that
// work is done: nothing waits for the stream, records it, or keeps the tensor.
struct SideUse {
  Code expr;          // the launch, or the use under a stream guard
  Variable tensor;    // a local of the function, allocated on its current stream
  Variable stream;    // not the current one
  Code recorded = {}; // a record_stream that names another stream
};

// What a function does that matters to copies between a device and the host that go on while the
// host does: in the order of the source.
struct CopyStep {
  enum class Kind {
    kToHost,   // an asynchronous copy into host memory
    kToDevice, // one out of host memory
    kTouch,    // the host reads the memory, or returns it
    kWait,  // the host waits for a stream, an event or a device, or may do so in a called function
    kOrder, // a stream is made to wait for another
  };
  using Branch = Handle<struct BranchTag>;

  Kind kind;
  Code expr;
  Variable memory = {}; // the variable or member that holds the host's memory
  Code pointer = {};    // of CUDA's own functions, as written
  Code stream = {};     // of CUDA's own functions
  // The branches around it, outermost first: what branches, and which way.
  std::vector<std::pair<Branch, Branch>> branches = {};
};

enum class DeviceThing { kTensor, kStream, kEvent, kHandle, kMemory, kProperties };

// A variable that outlives every call and holds something that belongs to one device.
struct StaticState {
  Variable variable;
  DeviceThing thing;
  Code made;                   // the call that makes it, for whatever device is current there
  bool one_per_device = false; // something is kept, or made anew, for each device
  bool at_load = false;        // made when the program is loaded, not at the first call
};

// kAlgorithm is one of a library that launches kernels of its own: CUB, Thrust.
enum class LaunchKind { kKernel, kCopy, kStreamArgument, kAlgorithm };

inline bool isLaunch(LaunchKind kind) {
  return kind == LaunchKind::kKernel || kind == LaunchKind::kAlgorithm;
}

// Work that is put on a stream that the file shows.
struct StreamWork {
  LaunchKind kind;
  Code expr;
  bool on_default = false;
  // The stream, and where it was taken, if that was before the function's guard.
  Variable stream = {};
  Code taken_before_guard = {};
  std::uint32_t in_macro = 0; // where a macro of the project writes it, as an Edit's `begin`
};

// What runs on the device that is current, or asks for it.
struct DeviceWork {
  enum class Kind {
    kLaunch, // of a kernel or an algorithm
    kCall,   // of a function of the program
    kHanded, // a stream goes to a function that can only put its work on it
    kStream, // the current stream is taken, and kept in a variable
  };
  Kind kind;
  Code expr;
  std::pair<unsigned, unsigned> line = {}; // of which file
  bool guarded = false;                    // the current device has been set here
  bool in_new_thread = false;              // which starts on a device of its own
  Code inner = {};                         // kCall: the launch that it comes to, with no guard
  Variable stream = {};                    // kStream
};

// Something was asked of the current device before the guard set the right one.
struct LateGuard {
  Code query;
  std::string name; // of what was asked
  Code guard;
};

// A function takes from a tensor which kind of device it is on, and drops which one of that kind:
// `x.type()`, `x.device().type()`, `x.is_cuda() ? kCUDA : kCPU`.
struct DeviceKind {
  enum class From { kLegacyType, kLegacyCuda, kDeviceType, kIsCuda };
  From from;
  Code expr;               // what names the kind
  Code tensor = {};        // whose kind it is
  bool guarded = false;    // a guard is live
  bool device_set = false; // a device was set before, for the rest of the function
  bool on_host = false;    // the tensor is
};

// What a function does with the device that is current for its caller.
struct DeviceSets {
  struct Set {
    Code expr;
    bool in_new_thread = false; // which starts on a device of its own
    bool restores = false;      // sets the device back to one that was asked for before
    bool is_left = false;       // some way to the end of the function passes no restoring one
  };
  std::vector<Set> sets = {};
  bool by_guard = false;         // a project's own guard: the destructor restores
  bool is_wrapper = false;       // nothing but sets the device that it is given
  bool restored_at_exit = false; // by an object whose destructor runs a lambda
};

// The current stream is taken for the work of a tensor, with no guard.
struct ServedStream {
  Code expr;
  Variable tensor;
};

// A function asks what a device is like: properties, attributes, the number of its multiprocessors.
struct PropertyQuery {
  Code expr;                  // the call, or the field of a KernelHardwareInfo that is set
  Code device = {};           // asked for; null where it is the current one
  Code wrapped = {};          // inside the called function of the project, where it is one
  bool of_zero = false;       // the device asked for is 0
  bool guard_follows = false; // none is live yet, but one is set further down
};

} // namespace devsan::analyzer
