// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The extension `_core`: the kernel builder and compiled kernels. Objects cross as small values; no
// MLIR type does.
#include "tilewright/builder/KernelBuilder.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace nb::literals;

namespace tilewright::binding {

using builder::Buffer;
using builder::DType;
using builder::KernelBuilder;
using builder::Operand;
using builder::Value;

void defineDriver(nb::module_ &m);
nb::object finish(KernelBuilder &builder);

namespace {

std::string typeName(DType type) { return std::string(builder::nameOf(type)); }

nb::object constantOf(const Value &value) {
  if (!value.isConstant())
    return nb::none();
  if (builder::isFloat(value.dtype))
    return nb::float_(value.real);
  if (value.dtype == DType::Bool)
    return nb::bool_(value.integer != 0);
  return nb::int_(value.integer);
}

/// A Python number as a weak constant. Integers beyond 64 bits are refused.
Value numberOf(nb::handle number) {
  if (PyBool_Check(number.ptr()))
    return Value::number(number.ptr() == Py_True);
  if (PyFloat_Check(number.ptr()))
    return Value::number(nb::cast<double>(number));
  int overflow = 0;
  int64_t value = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
  if (overflow)
    throw builder::BuildError("an integer constant does not fit 64 bits");
  if (value == -1 && PyErr_Occurred())
    throw nb::python_error();
  return Value::number(value);
}

Value typedOf(nb::handle number, const std::string &type) {
  DType to = builder::parseDType(type);
  if (PyFloat_Check(number.ptr()))
    return Value::typed(nb::cast<double>(number), to);
  if (to == DType::UInt64 && !PyBool_Check(number.ptr()))
    return Value::typed(static_cast<int64_t>(PyLong_AsUnsignedLongLongMask(number.ptr())), to);
  return Value::typed(numberOf(number).integer, to);
}

std::vector<builder::Source> sourcesOf(const nb::list &list) {
  std::vector<builder::Source> sources;
  for (nb::handle item : list) {
    builder::Source source;
    if (nb::isinstance<Operand>(item))
      source.box = nb::cast<Operand>(item);
    else
      source.scalar = nb::cast<Value>(item);
    sources.push_back(source);
  }
  return sources;
}

void defineValues(nb::module_ &m) {
  nb::class_<Value>(m, "Value", "A scalar: a run-time value or a constant.")
      .def_static(
          "number", [](nb::handle number) { return numberOf(number); },
          "A Python number, which adopts the other operand's type.")
      .def_static("typed", &typedOf, "A constant of a named type.")
      .def_prop_ro("dtype", [](const Value &value) { return typeName(value.dtype); })
      .def_prop_ro("is_constant", &Value::isConstant)
      .def_prop_ro("constant", &constantOf)
      .def_ro("weak", &Value::weak);
  nb::class_<Buffer>(m, "Buffer", "A tensor parameter, a tile or a scalar variable.")
      .def_prop_ro("dtype", [](const Buffer &buffer) { return typeName(buffer.dtype); })
      .def_ro("shape", &Buffer::shape);
  nb::class_<Operand>(m, "Operand", "A buffer, corner or region handed to a tile operation.")
      .def("__init__",
           [](Operand *self, const Buffer &buffer) {
             new (self) Operand{buffer, Operand::Kind::Whole, {}, {}, {}, {}};
           })
      .def_static("corner",
                  [](const Buffer &buffer, std::vector<Value> starts) {
                    return Operand{buffer, Operand::Kind::Corner, std::move(starts), {}, {}, {}};
                  })
      .def_ro("buffer", &Operand::buffer)
      .def_ro("starts", &Operand::starts)
      .def_ro("sizes", &Operand::sizes)
      .def_ro("positions", &Operand::positions)
      .def_prop_ro("scalars", [](const Operand &operand) {
        nb::list list;
        for (bool scalar : operand.scalars)
          list.append(nb::bool_(scalar));
        return list;
      });
}

std::vector<bool> flags(const nb::list &list) {
  std::vector<bool> result;
  for (nb::handle item : list)
    result.push_back(nb::cast<bool>(item));
  return result;
}

void defineBuilder(nb::module_ &m) {
  nb::class_<KernelBuilder>(m, "KernelBuilder", "Builds one kernel function.")
      .def(nb::init<const std::string &>())
      .def("set_location", &KernelBuilder::setLocation)
      .def(
          "add_tensor",
          [](KernelBuilder &self, const std::string &name, const std::string &type,
             const std::vector<builder::SizeTokens> &shape, bool output,
             const std::string &element) {
            return self.addTensor(name, builder::parseDType(type), shape, output, element);
          },
          "name"_a, "type"_a, "shape"_a, "output"_a, "element"_a = "")
      .def("add_alias",
           [](KernelBuilder &self, const std::string &name, const std::string &type,
              const std::vector<builder::SizeTokens> &shape, const Buffer &tensor) {
             return self.addAlias(name, builder::parseDType(type), shape, tensor);
           })
      .def("im2col", &KernelBuilder::im2col)
      .def("add_scalar",
           [](KernelBuilder &self, const std::string &name, const std::string &type) {
             return self.addScalar(name, builder::parseDType(type));
           })
      .def("size", &KernelBuilder::size)
      .def("begin_launch", &KernelBuilder::beginLaunch)
      .def("end_launch", &KernelBuilder::endLaunch)
      .def("begin_threads", &KernelBuilder::beginThreads)
      .def("begin_for", &KernelBuilder::beginFor)
      .def("end_for", &KernelBuilder::endFor)
      .def("begin_parallel", &KernelBuilder::beginParallel)
      .def("end_parallel", &KernelBuilder::endParallel)
      .def("begin_if", &KernelBuilder::beginIf)
      .def("begin_else", &KernelBuilder::beginElse)
      .def("end_if", &KernelBuilder::endIf)
      .def("begin_while", &KernelBuilder::beginWhile)
      .def("while_condition", &KernelBuilder::whileCondition)
      .def("end_while", &KernelBuilder::endWhile)
      .def("binary", &KernelBuilder::binary)
      .def("unary", &KernelBuilder::unary)
      .def("cast",
           [](KernelBuilder &self, const Value &value, const std::string &type,
              const std::string &rounding) {
             return self.cast(value, builder::parseDType(type), rounding);
           })
      .def("bitcast",
           [](KernelBuilder &self, const Value &value, const std::string &type) {
             return self.bitcast(value, builder::parseDType(type));
           })
      .def("fma", &KernelBuilder::fma)
      .def("select", &KernelBuilder::select)
      .def("if_then_else", &KernelBuilder::ifThenElse)
      .def(
          "alloc",
          [](KernelBuilder &self, const std::string &name, const std::string &type,
             const std::vector<int64_t> &shape, const std::string &scope, int64_t slots,
             int64_t address) {
            return self.alloc(name, builder::parseDType(type), shape, scope, slots, address);
          },
          nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg("slots") = 1, nb::arg("address") = -1)
      .def("next_slot", &KernelBuilder::nextSlot)
      .def("begin_cores", &KernelBuilder::beginCores)
      .def("core_id", &KernelBuilder::coreId)
      .def("core_count", &KernelBuilder::coreCount)
      .def("begin_block", &KernelBuilder::beginBlock)
      .def("breakpoint", &KernelBuilder::breakpoint)
      .def("inline_template", &KernelBuilder::inlineTemplate)
      .def("parallel_lanes",
           [](KernelBuilder &self) {
             auto [lanes, extents] = self.parallelLanes();
             return nb::make_tuple(lanes, extents);
           })
      .def("alloc_lanes",
           [](KernelBuilder &self, const std::string &name, const std::string &type,
              const std::vector<int64_t> &extents) {
             return self.allocLanes(name, builder::parseDType(type), extents);
           })
      .def("rename", &KernelBuilder::rename)
      .def("name_of", &KernelBuilder::nameOf)
      .def("element_indices", &KernelBuilder::elementIndices)
      .def("load", &KernelBuilder::load)
      .def("store", &KernelBuilder::store)
      .def("region",
           [](KernelBuilder &self, const Buffer &buffer, const std::vector<Value> &starts,
              const std::vector<std::optional<Value>> &stops, const nb::list &scalars,
              const std::vector<int64_t> &positions) {
             Operand region = self.region(buffer, starts, stops, flags(scalars));
             region.positions = positions;
             return region;
           })
      .def("set_pad", &KernelBuilder::setPad)
      .def("copy", &KernelBuilder::copy, nb::arg(), nb::arg(), nb::arg(), nb::arg("relu") = false,
           nb::arg("scale") = nb::none())
      .def("store_fractals", &KernelBuilder::storeFractals, nb::arg(), nb::arg(), nb::arg(),
           nb::arg("relu"), nb::arg("scale").none(), nb::arg("split"))
      .def("fill", &KernelBuilder::fill)
      .def("gemm", &KernelBuilder::gemm, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
           nb::arg().none(), nb::arg())
      .def("reduce", &KernelBuilder::reduce)
      .def("scan", &KernelBuilder::scan)
      .def("elementwise",
           [](KernelBuilder &self, const std::string &function, const nb::list &sources,
              const Operand &dst, const std::vector<Value> &size, const std::string &rounding) {
             self.elementwise(function, sourcesOf(sources), dst, size, rounding);
           })
      .def("view_tile",
           [](KernelBuilder &self, const Buffer &tile, const std::string &type,
              const std::vector<int64_t> &shape) {
             return self.viewTile(tile, builder::parseDType(type), shape);
           })
      .def("bitcast_tile",
           [](KernelBuilder &self, const Operand &src, const std::string &type) {
             return self.bitcastTile(src, builder::parseDType(type));
           })
      .def("iota", &KernelBuilder::iota)
      .def("gather", &KernelBuilder::gather)
      .def("transpose", &KernelBuilder::transpose)
      .def("reshape", &KernelBuilder::reshape)
      .def("concat", &KernelBuilder::concat)
      .def("flip", &KernelBuilder::flip)
      .def("atomic_box", &KernelBuilder::atomicBox)
      .def("atomic_scalar", &KernelBuilder::atomicScalar)
      .def("atomic_fetch", &KernelBuilder::atomicFetch)
      .def("quantifier", &KernelBuilder::quantifier)
      .def("begin_scope", &KernelBuilder::beginScope)
      .def("end_scope", &KernelBuilder::endScope)
      .def("sub_core_id", &KernelBuilder::subCoreId)
      .def("set_flag", &KernelBuilder::setFlag, nb::arg(), nb::arg(), nb::arg(), nb::arg(),
           nb::arg("rotate") = nb::none())
      .def("barrier", &KernelBuilder::barrier)
      .def("block_sync", &KernelBuilder::blockSync)
      .def("core_barrier", &KernelBuilder::coreBarrier)
      .def("print_message", &KernelBuilder::printMessage)
      .def("print_box", &KernelBuilder::printBox)
      .def("print_scalar", &KernelBuilder::printScalar)
      .def("assert_op", &KernelBuilder::assertOp)
      .def("finish", &finish, "Checks the function and gives its Module.");
}

} // namespace

} // namespace tilewright::binding

NB_MODULE(_core, m) {
  using namespace tilewright::binding;
  nb::set_leak_warnings(false); // cached kernels live as long as the process
  m.doc() = "Kernel builder and compiled kernels.";
  nb::exception<tilewright::builder::BuildError>(m, "BuildError");
  defineValues(m);
  defineBuilder(m);
  defineDriver(m);
}
