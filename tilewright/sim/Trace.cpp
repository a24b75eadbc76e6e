// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/sim/Clock.h"
#include "tilewright/support/WriteFile.h"

#include <cmath>
#include <cstdio>
#include <set>

namespace tilewright::sim {
namespace {

const char *pipeName(Pipe pipe) {
  switch (pipe) {
  case Pipe::S:
    return "scalar";
  case Pipe::V:
    return "vector";
  case Pipe::M:
    return "cube";
  case Pipe::MTE1:
    return "MTE1 (L1 to L0)";
  case Pipe::MTE2:
    return "MTE2 (GM in)";
  case Pipe::MTE3:
    return "MTE3 (GM out)";
  case Pipe::FIX:
    return "fixpipe";
  case Pipe::All:
    return "all";
  }
  return "?";
}

/// A JSON string with its quotes.
std::string quoted(const std::string &text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char code[8];
      std::snprintf(code, sizeof(code), "\\u%04x", c);
      out += code;
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string coreName(const TraceCore &core, bool mixed) {
  if (core.kind == CoreKind::AIC)
    return "AIC " + std::to_string(core.group);
  std::string name = "AIV " + std::to_string(core.group);
  return mixed ? name + "." + std::to_string(core.sub) : name;
}

/// The constant part of one instruction's slices: name and, in args, the source line.
struct SliceText {
  std::string name, args;
};

std::vector<SliceText> sliceTexts(const Program &program, const CoreProgram &core) {
  std::vector<SliceText> texts;
  for (const Template &instruction : core.templates) {
    SliceText text;
    text.name = quoted(instruction.label.empty() ? "instruction" : instruction.label);
    const int32_t location = instruction.location;
    if (location >= 0 && static_cast<size_t>(location) < program.locations.size()) {
      const Location &line = program.locations[location];
      text.args = "\"line\":" + quoted(line.file + ":" + std::to_string(line.line));
    }
    texts.push_back(std::move(text));
  }
  return texts;
}

} // namespace

std::string writeTrace(const Program &program, const RunResult &result,
                       const machine::Machine &chip, const std::string &path) {
  support::WholeFile file(path);
  std::FILE *out = file.stream();
  if (!out)
    return "trace file " + file.commit();

  std::fprintf(out,
               "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"kernel\":%s,\"chip\":%s},\n"
               "\"traceEvents\":[\n",
               quoted(program.name).c_str(), quoted(chip.name).c_str());
  const char *separator = "";
  for (size_t core = 0; core < result.cores.size(); ++core) {
    std::fprintf(out,
                 "%s{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%zu,\"args\":{\"name\":%s}},\n"
                 "{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":%zu,"
                 "\"args\":{\"sort_index\":%zu}}",
                 separator, core, quoted(coreName(result.cores[core], program.isMixed())).c_str(),
                 core, core);
    separator = ",\n";
  }
  std::set<std::pair<int32_t, Pipe>> threads;
  for (const TraceEvent &event : result.trace)
    threads.insert({event.core, event.pipe});
  for (auto [core, pipe] : threads)
    std::fprintf(out,
                 "%s{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%d,\"tid\":%u,"
                 "\"args\":{\"name\":%s}}",
                 separator, core, static_cast<unsigned>(pipe), quoted(pipeName(pipe)).c_str());

  const std::vector<SliceText> texts[2] = {sliceTexts(program, program.aic),
                                           sliceTexts(program, program.aiv)};
  const SliceText unnamed{"\"instruction\"", ""};
  for (const TraceEvent &event : result.trace) {
    const bool known = event.core >= 0 && static_cast<size_t>(event.core) < result.cores.size();
    const auto &own = texts[known && result.cores[event.core].kind == CoreKind::AIV];
    const bool named = event.templateId >= 0 && static_cast<size_t>(event.templateId) < own.size();
    const SliceText &text = named ? own[event.templateId] : unnamed;
    std::string args = text.args;
    if (event.bytes)
      args += (args.empty() ? "" : ",") + ("\"bytes\":" + std::to_string(event.bytes));
    // Whole nanoseconds, so that slices which meet do not overlap in print.
    const long long start = std::llround(event.start * 1000 / chip.clockMHz);
    const long long end = std::llround(event.end * 1000 / chip.clockMHz);
    std::fprintf(out,
                 "%s{\"ph\":\"X\",\"name\":%s,\"pid\":%d,\"tid\":%u,\"ts\":%lld.%03lld,"
                 "\"dur\":%lld.%03lld,\"args\":{%s}}",
                 separator, text.name.c_str(), event.core, static_cast<unsigned>(event.pipe),
                 start / 1000, start % 1000, (end - start) / 1000, (end - start) % 1000,
                 args.c_str());
    separator = ",\n";
  }
  std::fputs("\n]}\n", out);
  std::string error = file.commit();
  return error.empty() ? error : "trace file " + error;
}

} // namespace tilewright::sim
