// The version of kvist, from the build.

#ifndef KVIST_SERVER_VERSION_H_
#define KVIST_SERVER_VERSION_H_

namespace kvist::server {

inline constexpr char kVersion[] = KVIST_VERSION;

}  // namespace kvist::server

#endif  // KVIST_SERVER_VERSION_H_
