// Vectors in space, in double.
#pragma once

#include <cmath>

namespace mbirk {

struct vector3 {
  double x = 0, y = 0, z = 0;

  friend constexpr vector3 operator+(vector3 const& a, vector3 const& b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
  friend constexpr vector3 operator-(vector3 const& a, vector3 const& b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
  friend constexpr vector3 operator*(vector3 const& a, double s) { return {a.x * s, a.y * s, a.z * s}; }
  friend constexpr vector3 operator/(vector3 const& a, double s) { return {a.x / s, a.y / s, a.z / s}; }
};

constexpr double dot(vector3 const& a, vector3 const& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
constexpr vector3 cross(vector3 const& a, vector3 const& b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
inline double length(vector3 const& a) { return std::sqrt(dot(a, a)); }

}  // namespace mbirk
