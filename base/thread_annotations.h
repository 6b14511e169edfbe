// Short names for Clang's thread-safety attributes (https://clang.llvm.org/docs/ThreadSafetyAnalysis.html).
// Other compilers see nothing. GUARDED_BY, PT_GUARDED_BY and NO_THREAD_SAFETY_ANALYSIS are Abseil's.

#ifndef KVIST_BASE_THREAD_ANNOTATIONS_H_
#define KVIST_BASE_THREAD_ANNOTATIONS_H_

#include "absl/base/thread_annotations.h"

#if defined(__clang__)
#define KVIST_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define KVIST_THREAD_ATTRIBUTE(x)
#endif

#define CAPABILITY(x) KVIST_THREAD_ATTRIBUTE(capability(x))
#define SCOPED_CAPABILITY KVIST_THREAD_ATTRIBUTE(scoped_lockable)
#define REQUIRES(...) KVIST_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define REQUIRES_SHARED(...) KVIST_THREAD_ATTRIBUTE(requires_shared_capability(__VA_ARGS__))
#define ACQUIRE(...) KVIST_THREAD_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define ACQUIRE_SHARED(...) KVIST_THREAD_ATTRIBUTE(acquire_shared_capability(__VA_ARGS__))
#define RELEASE(...) KVIST_THREAD_ATTRIBUTE(release_capability(__VA_ARGS__))
#define RELEASE_SHARED(...) KVIST_THREAD_ATTRIBUTE(release_shared_capability(__VA_ARGS__))
#define TRY_ACQUIRE(...) KVIST_THREAD_ATTRIBUTE(try_acquire_capability(__VA_ARGS__))
#define EXCLUDES(...) KVIST_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))

#endif  // KVIST_BASE_THREAD_ANNOTATIONS_H_
