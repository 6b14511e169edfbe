// Names for Clang's thread-safety attributes (https://clang.llvm.org/docs/ThreadSafetyAnalysis.html).
// Other compilers see nothing.

#ifndef KVIST_BASE_THREAD_ANNOTATIONS_H_
#define KVIST_BASE_THREAD_ANNOTATIONS_H_

#if defined(__clang__)
#define KVIST_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define KVIST_THREAD_ATTRIBUTE(x)
#endif

#define CAPABILITY(x) KVIST_THREAD_ATTRIBUTE(capability(x))
#define SCOPED_CAPABILITY KVIST_THREAD_ATTRIBUTE(scoped_lockable)
#define GUARDED_BY(x) KVIST_THREAD_ATTRIBUTE(guarded_by(x))
#define PT_GUARDED_BY(x) KVIST_THREAD_ATTRIBUTE(pt_guarded_by(x))
#define REQUIRES(...) KVIST_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define REQUIRES_SHARED(...) KVIST_THREAD_ATTRIBUTE(requires_shared_capability(__VA_ARGS__))
#define ACQUIRE(...) KVIST_THREAD_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define ACQUIRE_SHARED(...) KVIST_THREAD_ATTRIBUTE(acquire_shared_capability(__VA_ARGS__))
#define RELEASE(...) KVIST_THREAD_ATTRIBUTE(release_capability(__VA_ARGS__))
#define RELEASE_SHARED(...) KVIST_THREAD_ATTRIBUTE(release_shared_capability(__VA_ARGS__))
#define TRY_ACQUIRE(...) KVIST_THREAD_ATTRIBUTE(try_acquire_capability(__VA_ARGS__))
#define EXCLUDES(...) KVIST_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))
#define ASSERT_CAPABILITY(x) KVIST_THREAD_ATTRIBUTE(assert_capability(x))
#define NO_THREAD_SAFETY_ANALYSIS KVIST_THREAD_ATTRIBUTE(no_thread_safety_analysis)

#endif  // KVIST_BASE_THREAD_ANNOTATIONS_H_
