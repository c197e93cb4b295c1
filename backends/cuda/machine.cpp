#include "backends/cuda/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/error.h"

namespace shardcheck::gpu {
namespace {

std::size_t index(Stream stream) {
  return static_cast<std::size_t>(stream);
}

cudaDeviceProp properties_of(int device) {
  cudaDeviceProp properties{};
  SC_CHECK(cudaGetDeviceProperties(&properties, device));
  return properties;
}

}  // namespace

Gpu::Gpu(int device, StreamUse use, Communicators& communicators)
    : device_(device),
      communicators_(communicators),
      pool_(device, MemoryOf::device),
      host_pool_(device, MemoryOf::host) {
  SC_CHECK(cudaSetDevice(device));
  for (OwnedStream& stream : streams_) {
    if (use == StreamUse::as_planned || &stream == &streams_.front()) stream = make_stream();
  }
  for (Beside& beside : beside_) beside.ops_done = make_event();
  host_work_done_ = make_event();
}

Gpu::~Gpu() {
  // Nobody is left to hear of a failure.
  cudaSetDevice(device_);
  cudaDeviceSynchronize();
}

cudaStream_t Gpu::stream_of(Stream stream) const {
  return separate() ? streams_[index(stream)].get() : streams_[index(Stream::compute)].get();
}

/// The event is recorded before the first op that follows the host work, whatever its stream, so that other
/// streams wait for the host work alone and not for later ops of the compute stream.
cudaStream_t Gpu::begin_op(Stream stream) {
  SC_CHECK(cudaSetDevice(device_));
  if (!separate()) return stream_of(stream);
  if (host_work_is_last_) {
    SC_CHECK(cudaEventRecord(host_work_done_.get(), stream_of(Stream::compute)));
    host_work_is_last_ = false;
    for (Beside& beside : beside_) beside.must_wait = true;
  }
  if (stream != Stream::compute) {
    Beside& beside = beside_[index(stream)];
    if (beside.must_wait) {
      SC_CHECK(cudaStreamWaitEvent(stream_of(stream), host_work_done_.get(), 0));
      beside.must_wait = false;
    }
    beside.has_ops = true;
  }
  return stream_of(stream);
}

cudaStream_t Gpu::begin_host_work() {
  SC_CHECK(cudaSetDevice(device_));
  for (std::size_t i = 0; i < beside_.size(); ++i) {
    Beside& beside = beside_[i];
    if (!beside.has_ops) continue;
    SC_CHECK(cudaEventRecord(beside.ops_done.get(), streams_[i].get()));
    SC_CHECK(cudaStreamWaitEvent(stream_of(Stream::compute), beside.ops_done.get(), 0));
    beside.has_ops = false;
  }
  host_work_is_last_ = true;
  return stream_of(Stream::compute);
}

void Gpu::await() {
  SC_CHECK(cudaSetDevice(device_));
  for (const OwnedStream& stream : streams_) {
    if (stream != nullptr) communicators_.await(stream.get());
  }
  for (Beside& beside : beside_) beside.has_ops = beside.must_wait = false;
  host_work_is_last_ = false;
}

std::byte* Gpu::scratch(Stream stream, std::int64_t bytes) {
  Block& block = scratch_[separate() ? index(stream) : 0];
  if (block.bytes < bytes) {
    await();
    pool_.release(block);
    block = {};
    block = pool_.acquire(bytes);
  }
  return block.data;
}

Machine::Machine(const CudaOptions& options) : options_(options), communicators_(options) {
  int present = 0;
  SC_CHECK(cudaGetDeviceCount(&present));
  std::vector<int> devices = options.devices;
  if (devices.empty()) {
    devices.resize(static_cast<std::size_t>(options.gpus == 0 ? present : options.gpus));
    std::iota(devices.begin(), devices.end(), 0);
  }
  const int wanted = devices.empty() ? 1 : *std::max_element(devices.begin(), devices.end()) + 1;
  if (wanted > present) {
    throw Error(ErrorKind::machine_cannot,
                fmt::format("cuda: {} GPUs are asked for and {} are present", wanted, present));
  }
  for (const int device : devices) {
    gpus_.push_back(std::make_unique<Gpu>(device, options.streams, communicators_));
  }
}

void Machine::await() {
  for (const auto& gpu : gpus_) gpu->await();
}

std::string Machine::describe() const {
  const cudaDeviceProp first = properties_of(gpus_.front()->device());
  int driver = 0;
  SC_CHECK(cudaDriverGetVersion(&driver));
  const std::string others =
      options_.world.is_alone() ? "" : fmt::format(", {} with the other processes', by NCCL", gpus());
  return fmt::format("{} x {} (compute capability {}.{}), driver for CUDA {}.{}{}", gpus_.size(), first.name,
                     first.major, first.minor, driver / 1000, driver % 1000 / 10, others);
}

bool Machine::is_hopper() const {
  return std::all_of(gpus_.begin(), gpus_.end(), [](const auto& gpu) {
    const cudaDeviceProp properties = properties_of(gpu->device());
    return properties.major == 9 && properties.minor == 0;
  });
}

}  // namespace shardcheck::gpu
