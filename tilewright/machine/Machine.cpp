// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/machine/Machine.h"

#include "tilewright/machine/ChipData.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <bit>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <set>
#include <sstream>
#include <variant>

namespace tilewright::machine {
namespace {

using Json = nlohmann::ordered_json;
using Member = std::variant<int Machine::*, int64_t Machine::*, double Machine::*>;

/// One key of a chip file: the member that it fills and the values that make sense.
struct Field {
  const char *key;
  Member member;
  double least, most;
};

constexpr double kMiB = 1 << 20;
constexpr double kTiB = 1099511627776.0;

const std::vector<Field> &fields() {
  static const std::vector<Field> table = {
      {"clock_mhz", &Machine::clockMHz, 1, 100000},
      {"aic_count", &Machine::aicCount, 1, 4096},
      {"aiv_count", &Machine::aivCount, 1, 8192},
      {"ub_bytes", &Machine::ubBytes, 4096, 1024 * kMiB},
      {"l1_bytes", &Machine::l1Bytes, 4096, 1024 * kMiB},
      {"l0a_bytes", &Machine::l0aBytes, 1024, 1024 * kMiB},
      {"l0b_bytes", &Machine::l0bBytes, 1024, 1024 * kMiB},
      {"l0c_bytes", &Machine::l0cBytes, 1024, 1024 * kMiB},
      {"ub_align", &Machine::ubAlign, 1, 4096},
      {"l1_align", &Machine::l1Align, 1, 4096},
      {"l0c_align", &Machine::l0cAlign, 1, 4096},
      {"fractal_rows", &Machine::fractalRows, 1, 256},
      {"fractal_bytes", &Machine::fractalBytes, 8, 1024},
      {"flag_ids_per_pipe_pair", &Machine::flagIdsPerPipePair, 1, 255},
      {"block_flag_ids", &Machine::blockFlagIds, 1, 255},
      {"block_flag_max_outstanding", &Machine::blockFlagMaxOutstanding, 1, 65535},
      {"l2_bytes", &Machine::l2Bytes, 65536, kTiB},
      {"l2_effective_fraction", &Machine::l2EffectiveFraction, 0.01, 1},
      {"l2_bytes_per_cycle", &Machine::l2BytesPerCycle, 1, 1e6},
      {"aic_l2_bytes_per_cycle", &Machine::aicL2BytesPerCycle, 1, 1e6},
      {"l2_line_bytes", &Machine::l2LineBytes, 32, 65536},
      {"l2_sector_bytes", &Machine::l2SectorBytes, 32, 65536},
      {"l2_ways", &Machine::l2Ways, 1, 64},
      {"hbm_bytes_per_cycle", &Machine::hbmBytesPerCycle, 1, 1e6},
      {"hbm_peak_bytes_per_cycle", &Machine::hbmPeakBytesPerCycle, 1, 1e6},
      {"hbm_evict_factor", &Machine::hbmEvictFactor, 0, 100},
      {"hbm_row_overhead_aic", &Machine::hbmRowOverheadAic, 0, 1e5},
      {"hbm_row_overhead_aiv", &Machine::hbmRowOverheadAiv, 0, 1e5},
      {"unaligned_line_factor", &Machine::unalignedLineFactor, 0, 100},
      {"single_core_hbm_bytes_per_cycle", &Machine::singleCoreHbmBytesPerCycle, 0.1, 1e6},
      {"prologue", &Machine::prologue, 0, 1e7},
      {"scalar_issue", &Machine::scalarIssue, 0, 1e5},
      {"queue_depth", &Machine::queueDepth, 1, 1024},
      {"mte2_start", &Machine::mte2Start, 0, 1e6},
      {"mte2_latency_hit", &Machine::mte2LatencyHit, 0, 1e6},
      {"mte2_latency_miss", &Machine::mte2LatencyMiss, 0, 1e6},
      {"mte2_rate_aic", &Machine::mte2RateAic, 0.1, 1e6},
      {"mte2_row_aic", &Machine::mte2RowAic, 0, 1e5},
      {"mte2_row_in_flight_aic", &Machine::mte2RowInFlightAic, 0, 1e5},
      {"mte2_rate_aiv", &Machine::mte2RateAiv, 0.1, 1e6},
      {"mte2_row_aiv", &Machine::mte2RowAiv, 0, 1e5},
      {"mte3_start", &Machine::mte3Start, 0, 1e6},
      {"mte3_rate_aiv", &Machine::mte3RateAiv, 0.1, 1e6},
      {"fix_start", &Machine::fixStart, 0, 1e6},
      {"fix_gm_rate", &Machine::fixGmRate, 0.1, 1e6},
      {"fix_l1_rate", &Machine::fixL1Rate, 0.1, 1e6},
      {"write_pow2_stride_factor", &Machine::writePow2StrideFactor, 0.01, 100},
      {"atomic_write_factor", &Machine::atomicWriteFactor, 0.01, 100},
      {"mte1_rate_l0a", &Machine::mte1RateL0a, 0.1, 1e6},
      {"mte1_rate_l0b", &Machine::mte1RateL0b, 0.1, 1e6},
      {"mte1_start", &Machine::mte1Start, 0, 1e6},
      {"mte1_latency", &Machine::mte1Latency, 0, 1e6},
      {"mte1_loads_per_operand", &Machine::mte1LoadsPerOperand, 1, 1024},
      {"mmad_overhead", &Machine::mmadOverhead, 0, 1e6},
      {"macs_f16", &Machine::macsF16, 1, 1e9},
      {"macs_f32", &Machine::macsF32, 1, 1e9},
      {"macs_i8", &Machine::macsI8, 1, 1e9},
      {"macs_f8", &Machine::macsF8, 0, 1e9},
      {"flag_wait", &Machine::flagWait, 0, 1e6},
      {"block_flag", &Machine::blockFlag, 0, 1e6},
      {"vec_fixed", &Machine::vecFixed, 0, 1e6},
      {"vec_barrier_tail", &Machine::vecBarrierTail, 0, 1e6},
      {"bank_conflict_read_read", &Machine::bankConflictReadRead, 1, 100},
      {"bank_conflict_read_write", &Machine::bankConflictReadWrite, 1, 100},
      {"bank_conflict_half", &Machine::bankConflictHalf, 1, 100},
      {"bank_conflict_blocks", &Machine::bankConflictBlocks, 1, 100},
      {"vec_repeat_bytes", &Machine::vecRepeatBytes, 32, 65536},
      {"vec_max_repeats", &Machine::vecMaxRepeats, 1, 65535},
      {"scalar_element", &Machine::scalarElement, 0, 1e6},
      {"launch_a", &Machine::launchA, 0, 1e6},
      {"launch_b", &Machine::launchB, 0, 1e6},
      {"launch_a_warm", &Machine::launchAWarm, 0, 1e6},
      {"launch_b_warm", &Machine::launchBWarm, 0, 1e6},
  };
  return table;
}

constexpr const char *kVecTable = "vec_cycles_per_repeat";

const Field *findField(const std::string &key) {
  for (const Field &field : fields())
    if (key == field.key)
      return &field;
  return nullptr;
}

std::string number(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

bool isWhole(const Field &field) {
  return !std::holds_alternative<double Machine::*>(field.member);
}

/// False for no number at all, too.
bool isSensible(const Field &field, double value) {
  return value >= field.least && value <= field.most;
}

std::string sensible(const Field &field) {
  return "what makes sense (" + number(field.least) + " to " + number(field.most) + ")";
}

void set(Machine &machine, const Field &field, double value) {
  std::visit(
      [&](auto member) {
        using Value = std::remove_reference_t<decltype(machine.*member)>;
        machine.*member = static_cast<Value>(value);
      },
      field.member);
}

/// Reads one chip file. Every complaint names the file and the key; the first one wins.
class Reader {
public:
  Reader(std::string file, LoadResult &result) : file(std::move(file)), result(result) {}

  void read(std::string_view text) {
    result.text = text;
    Json root;
    try {
      root = Json::parse(text);
    } catch (const Json::parse_error &error) {
      fail("not JSON: " + std::string(error.what()));
      return;
    }
    if (!root.is_object()) {
      fail("must hold one object with a key per constant, but holds " +
           std::string(root.type_name()));
      return;
    }
    std::set<std::string> seen;
    for (const auto &[key, entry] : root.items()) {
      seen.insert(key);
      if (!readKey(key, entry))
        return;
    }
    for (const char *key : {"name", "description", kVecTable})
      if (!seen.count(key)) {
        fail("key '" + std::string(key) + "' is missing");
        return;
      }
    for (const Field &field : fields())
      if (!seen.count(field.key)) {
        fail("key '" + std::string(field.key) + "' is missing");
        return;
      }
    if (result.machine.name.empty())
      fail("key 'name' is empty");
    if (std::string problem = inconsistency(result.machine); !problem.empty())
      fail(problem);
  }

private:
  bool fail(const std::string &what) {
    if (result.error.empty())
      result.error = "E0906: chip file " + file + ": " + what;
    return false;
  }

  bool failKey(const std::string &key, const std::string &what) {
    return fail("key '" + key + "' " + what);
  }

  bool readKey(const std::string &key, const Json &entry) {
    Machine &machine = result.machine;
    if (key == "name" || key == "description") {
      if (!entry.is_string())
        return failKey(key, "must be a text, but is " + std::string(entry.type_name()));
      (key == "name" ? machine.name : machine.description) = entry.get<std::string>();
      return true;
    }
    const Field *field = findField(key);
    if (!field && key != kVecTable)
      return fail("unknown key '" + key + "'");
    if (!entry.is_object())
      return failKey(key,
                     "must be an object with value, unit, range, provenance and source, but is " +
                         std::string(entry.type_name()));
    for (const char *part : {"value", "unit", "range", "provenance", "source"})
      if (!entry.contains(part))
        return failKey(key, "lacks '" + std::string(part) + "'");
    for (const auto &[part, unused] : entry.items())
      if (part != "value" && part != "unit" && part != "range" && part != "provenance" &&
          part != "source")
        return failKey(key, "has an unknown part '" + part + "'");
    for (const char *part : {"unit", "provenance", "source"})
      if (!entry[part].is_string())
        return failKey(key, "has a '" + std::string(part) + "' that is not a text");
    if (!field)
      return readVecTable(entry["value"]);
    return readField(*field, entry);
  }

  bool readField(const Field &field, const Json &entry) {
    const std::string key = field.key;
    const Json &value = entry["value"];
    const bool whole = isWhole(field);
    if (!value.is_number() || (whole && !value.is_number_integer()))
      return failKey(key, "must have " + std::string(whole ? "a whole number" : "a number") +
                              " as value, but has " + value.dump());
    const double number = value.get<double>();
    if (!isSensible(field, number))
      return failKey(key, "has the value " + value.dump() + ", outside of " + sensible(field));
    const Json &range = entry["range"];
    if (!range.is_array() || range.size() != 2 || !range[0].is_number() || !range[1].is_number() ||
        range[0].get<double>() > range[1].get<double>())
      return failKey(key, "must have a range [least, most], but has " + range.dump());
    for (const Json &end : range) // times are found out for both
      if (!isSensible(field, end.get<double>()))
        return failKey(key, "has the range " + range.dump() + ", outside of " + sensible(field));
    set(result.machine, field, number);
    result.parameters.push_back({key, entry["unit"].get<std::string>(),
                                 entry["provenance"].get<std::string>(),
                                 entry["source"].get<std::string>(), number, range[0].get<double>(),
                                 range[1].get<double>()});
    return true;
  }

  bool readVecTable(const Json &table) {
    const std::string key = kVecTable;
    if (!table.is_object())
      return failKey(key,
                     "must have an object as value, but has " + std::string(table.type_name()));
    for (const auto &[op, row] : table.items()) {
      if (!row.is_array() || row.size() != 2 || !row[0].is_number() || !row[1].is_number())
        return failKey(key, "must give [cycles of 2-byte, cycles of 4-byte elements] for '" + op +
                                "', but gives " + row.dump());
      const double two = row[0].get<double>(), four = row[1].get<double>();
      if (two <= 0 || four <= 0 || two > 1e6 || four > 1e6)
        return failKey(key, "gives " + row.dump() + " for '" + op + "', which makes no sense");
      result.machine.vecCyclesPerRepeat[op] = {two, four};
    }
    if (!result.machine.vecCyclesPerRepeat.count("default"))
      return failKey(key, "lacks the row 'default'");
    return true;
  }

  std::string file;
  LoadResult &result;
};

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

/// Reads a whole file; false leaves the system's reason in `error`.
bool readFile(const std::string &path, std::string &text, std::string &error) {
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  std::ostringstream buffer;
  if (in)
    buffer << in.rdbuf();
  if (!in || in.bad()) {
    error = errno ? std::strerror(errno) : "read error";
    return false;
  }
  text = buffer.str();
  return true;
}

} // namespace

double Machine::vecCycles(const std::string &op, unsigned bytes) const {
  auto row = vecCyclesPerRepeat.find(op);
  if (row == vecCyclesPerRepeat.end())
    row = vecCyclesPerRepeat.find("default");
  if (row == vecCyclesPerRepeat.end())
    return 1;
  return row->second[bytes >= 4 ? 1 : 0];
}

std::string setParameter(Machine &machine, const std::string &key, double value) {
  const Field *field = findField(key);
  if (!field)
    return machine.name + " has no constant '" + key + "'";
  if (!isSensible(*field, value))
    return "E0906: constant '" + key + "' cannot be " + number(value) + ", outside of " +
           sensible(*field);
  if (isWhole(*field) && value != std::floor(value))
    return "E0906: constant '" + key + "' must be a whole number, not " + number(value);
  set(machine, *field, value);
  return {};
}

std::string inconsistency(const Machine &machine) {
  if (machine.aivCount != 2 * machine.aicCount)
    return "E0906: aiv_count must be twice aic_count: a cube core comes with two vector cores";
  if (machine.l2LineBytes % machine.l2SectorBytes != 0 ||
      machine.l2LineBytes / machine.l2SectorBytes > 8)
    return "E0906: l2_line_bytes must be 1 to 8 sectors of l2_sector_bytes";
  if (!std::has_single_bit(uint64_t(machine.l2LineBytes)) ||
      !std::has_single_bit(uint64_t(machine.l2SectorBytes)))
    return "E0906: l2_line_bytes and l2_sector_bytes must be powers of two";
  return {};
}

std::vector<Parameter> uncertainOf(const LoadResult &chip) {
  // The clock is a setting of the board, which all times follow alike. Launch costs are told apart
  // from core times; the others are for bounds and for the compiler.
  static const std::set<std::string> notTimed = {"clock_mhz",     "launch_a",
                                                 "launch_b",      "launch_a_warm",
                                                 "launch_b_warm", "hbm_peak_bytes_per_cycle",
                                                 "block_flag_ids"};
  std::vector<Parameter> result;
  std::copy_if(chip.parameters.begin(), chip.parameters.end(), std::back_inserter(result),
               [&](const Parameter &parameter) {
                 return parameter.provenance != "measured" && parameter.low < parameter.high &&
                        !notTimed.count(parameter.key);
               });
  return result;
}

std::vector<std::string> chipNames() {
  std::vector<std::string> names;
  for (const ChipText &chip : builtinChips())
    names.emplace_back(chip.name);
  return names;
}

LoadResult loadChip(const std::string &nameOrPath) {
  LoadResult result;
  std::string name = lower(nameOrPath);
  if (name.ends_with(".json")) {
    std::string text, error;
    if (!readFile(nameOrPath, text, error)) {
      result.error = "E0906: chip file " + nameOrPath + " cannot be read: " + error;
      return result;
    }
    try {
      Reader(nameOrPath, result).read(text);
    } catch (const std::exception &error) {
      result.error = "E0906: chip file " + nameOrPath + ": " + error.what();
    }
    return result;
  }
  if (name.starts_with("ascend"))
    name.erase(0, std::strlen("ascend"));
  for (const ChipText &chip : builtinChips()) {
    if (name != chip.name)
      continue;
    Reader(std::string(chip.name), result).read(chip.json);
    return result;
  }
  result.error = "E0906: unknown chip '" + nameOrPath + "'; known are";
  for (const ChipText &chip : builtinChips())
    result.error += (&chip == &builtinChips().front() ? " " : ", ") + std::string(chip.name);
  result.error += ", or give the path of a chip file that ends in .json";
  return result;
}

} // namespace tilewright::machine
