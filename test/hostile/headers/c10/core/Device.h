#pragma once
namespace c10 {
class Device {};
} // namespace c10
