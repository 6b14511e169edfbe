#include "bench/support/allocation_meter.h"

#include <malloc.h>
#include <stdlib.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <new>

// glibc's own allocator under the names that stay when malloc is replaced. free needs no counting and is
// left as it is.
extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* block, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
}

namespace kvist::bench {
namespace {

// Of one thread, which alone writes it: so counting needs no locked instruction. Never freed, for the sums
// to stay when the thread ends.
struct alignas(64) ThreadCounts {
  std::atomic<std::int64_t> count{0};
  std::atomic<std::int64_t> bytes{0};
  ThreadCounts* next = nullptr;
};

constinit std::atomic<ThreadCounts*> all_threads{nullptr};
constinit thread_local ThreadCounts* this_thread = nullptr;

ThreadCounts* AddThisThread() {
  void* memory = __libc_memalign(alignof(ThreadCounts), sizeof(ThreadCounts));
  if (memory == nullptr) abort();
  this_thread = new (memory) ThreadCounts;
  this_thread->next = all_threads.load(std::memory_order_relaxed);
  while (!all_threads.compare_exchange_weak(this_thread->next, this_thread, std::memory_order_release)) {
  }
  return this_thread;
}

void Add(std::atomic<std::int64_t>* sum, std::size_t amount) {
  sum->store(sum->load(std::memory_order_relaxed) + static_cast<std::int64_t>(amount),
             std::memory_order_relaxed);
}

void CountAllocation(std::size_t bytes) {
  ThreadCounts* counts = this_thread != nullptr ? this_thread : AddThisThread();
  Add(&counts->count, 1);
  Add(&counts->bytes, bytes);
}

}  // namespace

AllocationTotals AllocationsSoFar() {
  AllocationTotals totals;
  for (const ThreadCounts* counts = all_threads.load(std::memory_order_acquire); counts != nullptr;
       counts = counts->next) {
    totals.count += counts->count.load(std::memory_order_relaxed);
    totals.bytes += counts->bytes.load(std::memory_order_relaxed);
  }
  return totals;
}

void AllocationMeter::Pause() {
  const AllocationTotals now = AllocationsSoFar();
  counted_.count += now.count - resumed_at_.count;
  counted_.bytes += now.bytes - resumed_at_.bytes;
}

AllocationMeter::~AllocationMeter() {
  Pause();
  state_->counters["B/op"] =
      benchmark::Counter(static_cast<double>(counted_.bytes), benchmark::Counter::kAvgIterations);
  state_->counters["allocs/op"] =
      benchmark::Counter(static_cast<double>(counted_.count), benchmark::Counter::kAvgIterations);
}

}  // namespace kvist::bench

extern "C" {

void* malloc(std::size_t size) {
  kvist::bench::CountAllocation(size);
  return __libc_malloc(size);
}

void* calloc(std::size_t count, std::size_t size) {
  kvist::bench::CountAllocation(count * size);
  return __libc_calloc(count, size);
}

void* realloc(void* block, std::size_t size) {
  kvist::bench::CountAllocation(size);
  return __libc_realloc(block, size);
}

void* memalign(std::size_t alignment, std::size_t size) {
  kvist::bench::CountAllocation(size);
  return __libc_memalign(alignment, size);
}

void* aligned_alloc(std::size_t alignment, std::size_t size) { return memalign(alignment, size); }

int posix_memalign(void** block, std::size_t alignment, std::size_t size) {
  *block = memalign(alignment, size);
  return *block == nullptr ? ENOMEM : 0;
}

}  // extern "C"
