#include "backends/cuda/cuda_options.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "core/error.h"

namespace shardcheck {
namespace {

template <class Number = std::int64_t>
std::optional<Number> number_in(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr || *text == '\0') return std::nullopt;
  const std::string_view digits(text);
  Number value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{} || end != digits.data() + digits.size() || value < 0) {
    throw bad_input(variable, fmt::format("\"{}\" is not a number of 0 or more", digits));
  }
  return value;
}

}  // namespace

CudaOptions cuda_options_from_environment() {
  CudaOptions options;
  if (const auto gpus = number_in("SHARDCHECK_GPUS")) options.gpus = static_cast<int>(*gpus);
  if (number_in("SHARDCHECK_SERIALISE").value_or(0) != 0) options.streams = StreamUse::serialised;
  if (const auto products = number_in("SHARDCHECK_EMULATE_BELOW")) options.emulate_below = *products;
  if (const auto seconds = number_in<double>("SHARDCHECK_COMM_TIMEOUT")) {
    options.comm_timeout =
        std::chrono::ceil<std::chrono::milliseconds>(std::chrono::duration<double>(*seconds));
  }
  return options;
}

}  // namespace shardcheck
