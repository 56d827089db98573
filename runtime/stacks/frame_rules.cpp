#include "runtime/stacks/frame_rules.h"

#include <cstring>

// Of libgcc, which every C++ program has; it finds the entry in the loaded files' tables and in
// what just-in-time compilers registered.
struct dwarf_eh_bases {
  void *tbase;
  void *dbase;
  void *func;
};
extern "C" const void *_Unwind_Find_FDE(void *pc, dwarf_eh_bases *bases);

namespace devsan::runtime {
namespace {

// Numbers of DWARF for x86-64.
constexpr std::uint64_t kRbp = 6, kRsp = 7;

// Instructions, without the upper two bits' three that hold an operand.
enum Instruction : std::uint8_t {
  kNop = 0x00,
  kSetLocation = 0x01,
  kAdvance1 = 0x02,
  kAdvance2 = 0x03,
  kAdvance4 = 0x04,
  kOffsetExtended = 0x05,
  kRestoreExtended = 0x06,
  kUndefined = 0x07,
  kSameValue = 0x08,
  kRegister = 0x09,
  kRemember = 0x0a,
  kRestoreState = 0x0b,
  kDefineCfa = 0x0c,
  kDefineCfaRegister = 0x0d,
  kDefineCfaOffset = 0x0e,
  kDefineCfaExpression = 0x0f,
  kExpression = 0x10,
  kOffsetExtendedSigned = 0x11,
  kDefineCfaSigned = 0x12,
  kDefineCfaOffsetSigned = 0x13,
  kValueOffset = 0x14,
  kValueOffsetSigned = 0x15,
  kValueExpression = 0x16,
  kGnuArgumentsSize = 0x2e,
};

// Of expressions.
constexpr std::uint8_t kDereference = 0x06, kPushRbpPlus = 0x76;

class Reader {
public:
  Reader(const unsigned char *at, const unsigned char *end) : at_(at), end_(end) {}

  bool atEnd() const { return at_ >= end_; }
  const unsigned char *at() const { return at_; }
  void skip(std::uint64_t count) { at_ = count < std::uint64_t(end_ - at_) ? at_ + count : end_; }

  template <typename T> T fixed() {
    T value = 0;
    if (std::size_t(end_ - at_) >= sizeof value)
      std::memcpy(&value, at_, sizeof value);
    skip(sizeof value);
    return value;
  }

  std::uint64_t uleb() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; !atEnd(); shift += 7) {
      const std::uint8_t byte = *at_++;
      if (shift < 64)
        value |= std::uint64_t(byte & 0x7f) << shift;
      if (!(byte & 0x80))
        break;
    }
    return value;
  }

  std::int64_t sleb() {
    std::uint64_t value = 0;
    unsigned shift = 0;
    while (!atEnd()) {
      const std::uint8_t byte = *at_++;
      if (shift < 64)
        value |= std::uint64_t(byte & 0x7f) << shift;
      shift += 7;
      if (!(byte & 0x80)) {
        if ((byte & 0x40) && shift < 64)
          value |= ~std::uint64_t{0} << shift;
        break;
      }
    }
    return std::int64_t(value);
  }

  // A pointer of which only the size matters. False for an encoding that has none.
  bool skipPointer(std::uint8_t encoding) {
    switch (encoding & 0x0f) {
    case 0x00:
    case 0x04:
    case 0x0c:
      skip(8);
      return true;
    case 0x02:
    case 0x0a:
      skip(2);
      return true;
    case 0x03:
    case 0x0b:
      skip(4);
      return true;
    case 0x01:
      uleb();
      return true;
    case 0x09:
      sleb();
      return true;
    default:
      return false;
    }
  }

private:
  const unsigned char *at_;
  const unsigned char *end_;
};

// The state of the registers that matter, at one place of the function.
struct Row {
  std::uint64_t cfa_register = 0;
  std::int64_t cfa_offset = 0;
  enum Cfa : std::uint8_t { kRegisterPlusOffset, kSavedAtRbp, kOther } cfa = kRegisterPlusOffset;
  enum Saved : std::uint8_t { kKept, kAt, kAtRbp, kLost } rbp = kKept, return_address = kLost;
  std::int64_t rbp_at = 0;
  std::int64_t return_at = 0;
};

// What entries of a file have in common.
struct Common {
  std::uint64_t code_factor = 1;
  std::int64_t data_factor = 1;
  std::uint64_t return_register = 0;
  std::uint8_t pointer_encoding = 0;
  bool has_augmentation = false;
  bool is_signal_frame = false;
  bool is_known = false;
  const unsigned char *instructions = nullptr;
  const unsigned char *end = nullptr;
};

// The end of an entry whose length is at `entry`; null for the 64-bit format, which nobody emits.
const unsigned char *endOf(const unsigned char *entry) {
  std::uint32_t length;
  std::memcpy(&length, entry, sizeof length);
  return length == 0xffffffff ? nullptr : entry + 4 + length;
}

Common readCommon(const unsigned char *entry) {
  Common common;
  common.end = endOf(entry);
  if (!common.end)
    return common;
  Reader in(entry + 8, common.end);
  const std::uint8_t version = in.fixed<std::uint8_t>();
  const char *augmentation = reinterpret_cast<const char *>(in.at());
  while (!in.atEnd() && in.fixed<std::uint8_t>() != 0) {
  }
  if (version != 1 && version != 3)
    return common;
  common.code_factor = in.uleb();
  common.data_factor = in.sleb();
  common.return_register = version == 1 ? in.fixed<std::uint8_t>() : in.uleb();
  common.is_known = true;
  for (const char *c = augmentation; *c; ++c)
    switch (*c) {
    case 'z':
      in.uleb();
      common.has_augmentation = true;
      break;
    case 'R':
      common.pointer_encoding = in.fixed<std::uint8_t>();
      break;
    case 'P':
      common.is_known &= in.skipPointer(in.fixed<std::uint8_t>());
      break;
    case 'L':
      in.fixed<std::uint8_t>();
      break;
    case 'S':
      common.is_signal_frame = true;
      break;
    default:
      common.is_known = false;
    }
  common.instructions = in.at();
  return common;
}

class Machine {
public:
  explicit Machine(const Common &common) : common_(common) {}

  // Runs until `target` bytes into the function. False for what it does not know.
  bool run(const unsigned char *begin, const unsigned char *end, std::uint64_t target) {
    Reader in(begin, end);
    std::uint64_t location = 0;
    while (!in.atEnd()) {
      const std::uint8_t byte = in.fixed<std::uint8_t>();
      const std::uint8_t operand = byte & 0x3f;
      switch (byte >> 6) {
      case 1:
        location += operand * common_.code_factor;
        break;
      case 2:
        save(operand, std::int64_t(in.uleb()) * common_.data_factor);
        break;
      case 3:
        restore(operand);
        break;
      default:
        if (!extended(Instruction(byte), in, location))
          return false;
      }
      if (location > target)
        return true;
    }
    return true;
  }

  void startFunction() { initial_ = row_; }
  const Row &row() const { return row_; }

private:
  void set(std::uint64_t reg, Row::Saved saved, std::int64_t at = 0) {
    if (reg == kRbp) {
      row_.rbp = saved;
      row_.rbp_at = at;
    } else if (reg == common_.return_register) {
      row_.return_address = saved;
      row_.return_at = at;
    }
  }
  void save(std::uint64_t reg, std::int64_t at) { set(reg, Row::kAt, at); }
  void restore(std::uint64_t reg) {
    if (reg == kRbp)
      set(reg, initial_.rbp, initial_.rbp_at);
    else
      set(reg, initial_.return_address, initial_.return_at);
  }
  void defineCfa(std::uint64_t reg, std::int64_t offset) {
    row_.cfa_register = reg;
    row_.cfa_offset = offset;
    row_.cfa = Row::kRegisterPlusOffset;
  }

  static Reader takeExpression(Reader &in) {
    const std::uint64_t size = in.uleb();
    const unsigned char *begin = in.at();
    in.skip(size);
    return {begin, in.at()};
  }
  // Only the one that compilers emit for functions that align their stack.
  void defineCfaByExpression(Reader expression) {
    const bool starts_at_rbp = expression.fixed<std::uint8_t>() == kPushRbpPlus;
    row_.cfa_offset = expression.sleb();
    const bool is_read = expression.fixed<std::uint8_t>() == kDereference && expression.atEnd();
    row_.cfa = starts_at_rbp && is_read ? Row::kSavedAtRbp : Row::kOther;
  }

  bool extended(Instruction instruction, Reader &in, std::uint64_t &location) {
    const auto factor = common_.data_factor;
    std::uint64_t reg;
    switch (instruction) {
    case kNop:
      return true;
    case kAdvance1:
      location += in.fixed<std::uint8_t>() * common_.code_factor;
      return true;
    case kAdvance2:
      location += in.fixed<std::uint16_t>() * common_.code_factor;
      return true;
    case kAdvance4:
      location += in.fixed<std::uint32_t>() * common_.code_factor;
      return true;
    case kOffsetExtended:
      reg = in.uleb();
      save(reg, std::int64_t(in.uleb()) * factor);
      return true;
    case kOffsetExtendedSigned:
      reg = in.uleb();
      save(reg, in.sleb() * factor);
      return true;
    case kRestoreExtended:
      restore(in.uleb());
      return true;
    case kSameValue:
      set(in.uleb(), Row::kKept);
      return true;
    case kUndefined:
      set(in.uleb(), Row::kLost);
      return true;
    case kRegister:
      set(in.uleb(), Row::kLost);
      in.uleb();
      return true;
    case kRemember:
      if (depth_ == kMaxRemembered)
        return false;
      remembered_[depth_++] = row_;
      return true;
    case kRestoreState:
      if (depth_ == 0)
        return false;
      row_ = remembered_[--depth_];
      return true;
    case kDefineCfa:
      reg = in.uleb();
      defineCfa(reg, std::int64_t(in.uleb()));
      return true;
    case kDefineCfaSigned:
      reg = in.uleb();
      defineCfa(reg, in.sleb() * factor);
      return true;
    case kDefineCfaRegister:
      row_.cfa_register = in.uleb();
      return true;
    case kDefineCfaOffset:
      row_.cfa_offset = std::int64_t(in.uleb());
      return true;
    case kDefineCfaOffsetSigned:
      row_.cfa_offset = in.sleb() * factor;
      return true;
    case kDefineCfaExpression:
      defineCfaByExpression(takeExpression(in));
      return true;
    case kExpression: {
      reg = in.uleb();
      Reader expression = takeExpression(in);
      const bool is_at_rbp = expression.fixed<std::uint8_t>() == kPushRbpPlus &&
                             expression.sleb() == 0 && expression.atEnd();
      set(reg, is_at_rbp ? Row::kAtRbp : Row::kLost);
      return true;
    }
    case kValueExpression:
      set(in.uleb(), Row::kLost);
      takeExpression(in);
      return true;
    case kValueOffset:
    case kValueOffsetSigned:
      set(in.uleb(), Row::kLost);
      in.uleb();
      return true;
    case kGnuArgumentsSize:
      in.uleb();
      return true;
    case kSetLocation:
      return false;
    }
    return false;
  }

  static constexpr std::size_t kMaxRemembered = 8;
  const Common &common_;
  Row row_;
  Row initial_;
  Row remembered_[kMaxRemembered];
  std::size_t depth_ = 0;
};

bool fits(std::int64_t offset) {
  return offset > -(1 << 30) && offset < (1 << 30) && offset % 8 == 0;
}

FrameRule ruleOf(const Row &row) {
  FrameRule rule;
  if (row.return_address == Row::kLost) {
    rule.kind = FrameRule::kEnd;
    return rule;
  }
  if (row.return_address != Row::kAt || row.return_at != -8 || !fits(row.cfa_offset))
    return rule;
  rule.offset = std::int32_t(row.cfa_offset);
  if (row.cfa == Row::kSavedAtRbp && row.rbp == Row::kAtRbp) {
    rule.kind = FrameRule::kFromSaved;
    rule.caller_rbp = 0;
    return rule;
  }
  const bool keeps_rbp = row.rbp == Row::kKept;
  if (row.cfa != Row::kRegisterPlusOffset || !(keeps_rbp || row.rbp == Row::kAt) ||
      !fits(row.rbp_at))
    return {};
  if (row.cfa_register == kRsp)
    rule.kind = FrameRule::kFromRsp;
  else if (row.cfa_register == kRbp)
    rule.kind = FrameRule::kFromRbp;
  else
    return {};
  if (!keeps_rbp)
    rule.caller_rbp = std::int32_t(row.rbp_at);
  return rule;
}

} // namespace

FrameRule frameRuleOf(const unsigned char *fde, std::uint64_t offset) {
  const unsigned char *end = endOf(fde);
  std::int32_t back;
  std::memcpy(&back, fde + 4, sizeof back);
  if (!end || back == 0)
    return {};
  const Common common = readCommon(fde + 4 - back);
  if (!common.is_known || common.is_signal_frame)
    return {};
  Reader in(fde + 8, end);
  const std::uint8_t encoding = common.pointer_encoding;
  if (!in.skipPointer(encoding) || !in.skipPointer(encoding & 0x0f))
    return {};
  if (common.has_augmentation)
    in.skip(in.uleb());
  Machine machine(common);
  if (!machine.run(common.instructions, common.end, UINT64_MAX))
    return {};
  machine.startFunction();
  if (!machine.run(in.at(), end, offset))
    return {};
  return ruleOf(machine.row());
}

FrameRule frameRuleAt(std::uintptr_t pc) {
  dwarf_eh_bases bases{};
  const void *fde = _Unwind_Find_FDE(reinterpret_cast<void *>(pc), &bases);
  if (!fde)
    return {};
  return frameRuleOf(static_cast<const unsigned char *>(fde),
                     pc - reinterpret_cast<std::uintptr_t>(bases.func));
}

} // namespace devsan::runtime
