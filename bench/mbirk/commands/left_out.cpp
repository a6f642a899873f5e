#include "commands/left_out.hpp"

namespace mbirk::program {

bool affordable_work::granted(char const* part, std::string const& operation, index_t n, std::optional<double> seconds,
                              double times) {
  if (!forecast_.limited() || n <= complete_size || !seconds) return true;
  std::chrono::duration<double> const elapsed = std::chrono::steady_clock::now() - start_;
  double const limit = forecast_.limit(elapsed.count()) / times;
  if (*seconds <= limit) return true;
  left_out_.push_back({{"operation", operation},
                       {"volume_size", n},
                       {"part", part},
                       {"predicted seconds", *seconds},
                       {"limit seconds", limit}});
  return false;
}

std::optional<double> affordable_work::plain_seconds(std::string const& operation, index_t n) const {
  if (auto const plain = forecast_.at_or_predicted("counts " + operation, n)) return plain;
  if (auto const with_reuse = forecast_.at_or_predicted("reuse " + operation, n)) return *with_reuse / price_of_reuse;
  return std::nullopt;
}

bool affordable_work::problem(std::string const& geometry, index_t n) {
  return granted("operations", geometry + "_*", n, forecast_.predicted("data " + geometry, n));
}
bool affordable_work::times(std::string const& operation, index_t n) {
  return granted("times", operation, n, forecast_.predicted("call " + operation, n), calls);
}
bool affordable_work::reuse(std::string const& operation, index_t n) {
  return granted("reuse distances", operation, n, forecast_.predicted("reuse " + operation, n), price_of_counts);
}
bool affordable_work::counts(std::string const& operation, index_t n) {
  return granted("counts", operation, n, plain_seconds(operation, n), price_of_counts);
}
bool affordable_work::iterations(std::string const& operation, index_t n, int many) {
  auto const one = plain_seconds(operation, n);
  // There is one for each geometry and none at larger sizes, so it may take more than other parts.
  return granted("whole reconstruction", operation, n, one ? std::optional(*one * many) : std::nullopt, 0.5);
}

}  // namespace mbirk::program
