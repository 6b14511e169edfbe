#include "watch/event_block.h"

#include <new>

namespace kvist::watch {
namespace {

// Gives out one piece of memory with `extra` bytes behind it, and says where those are. So a block, its
// reference count and its bytes are one allocation: there is one for each event that somebody watches.
template <typename T>
class TrailingBytesAllocator {
 public:
  using value_type = T;

  // `*trailing` is set by the first allocation and must live until then.
  TrailingBytesAllocator(std::size_t extra, char** trailing) : extra_(extra), trailing_(trailing) {}
  template <typename U>
  explicit TrailingBytesAllocator(const TrailingBytesAllocator<U>& other)
      : extra_(other.extra_), trailing_(other.trailing_) {}

  T* allocate(std::size_t n) {
    char* const memory = static_cast<char*>(::operator new(n * sizeof(T) + extra_));
    *trailing_ = memory + n * sizeof(T);
    return reinterpret_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t) { ::operator delete(memory); }

 private:
  template <typename U>
  friend class TrailingBytesAllocator;

  std::size_t extra_;
  char** trailing_;
};

}  // namespace

NewEventBlock MakeEventBlock(std::size_t wire_bytes) {
  NewEventBlock made;
  made.block = std::allocate_shared<EventBlock>(TrailingBytesAllocator<EventBlock>(wire_bytes, &made.wire));
  made.block->wire = std::string_view(made.wire, wire_bytes);
  return made;
}

}  // namespace kvist::watch
