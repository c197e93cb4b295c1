#include "properties/product_law/product_machine.h"

#include "properties/gemm_law/execute.h"

namespace shardcheck {

ProductMachine::ProductMachine(Backend& backend)
    : backend_(&backend), profile_(profile_named(backend.info().profile)) {}

std::vector<std::byte> ProductMachine::product(const GemmCase& c, const GemmInputs& inputs) const {
  return backend_ == nullptr ? faulty_(c, inputs) : execute_gemm(*backend_, c, inputs);
}

}  // namespace shardcheck
