// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The frame of the source: imports, parameters, lines with their pipes and where they come from.
#include "tilewright/to_expert/Emitter.h"

#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::to_expert;

namespace {

constexpr size_t kWidth = 100; ///< of a line with what it comes from

/// The lines of the files that a kernel was written in.
class Sources {
public:
  /// Line `place` ("file:line") without its indentation; empty where there is none.
  std::string lineAt(StringRef place) {
    auto [file, number] = place.rsplit(':');
    unsigned line = 0;
    if (number.getAsInteger(10, line) || line == 0)
      return "";
    auto [entry, isNew] = files.try_emplace(file.str());
    if (isNew)
      if (auto buffer = llvm::MemoryBuffer::getFile(file))
        for (StringRef rest = (*buffer)->getBuffer(); !rest.empty();) {
          auto [first, more] = rest.split('\n');
          entry->second.push_back(first.trim().str());
          rest = more;
        }
    return line <= entry->second.size() ? entry->second[line - 1] : "";
  }

private:
  std::map<std::string, std::vector<std::string>> files;
};

/// Whether a statement may stand inside `with T.rs(pipe)`.
bool runsOn(const Line &line, Pipe pipe) { return llvm::is_contained(line.pipes, pipe); }

/// Puts runs of flags of one pipe, with the work on that pipe between them, into a `with T.rs`.
std::vector<Line> grouped(const std::vector<Line> &lines) {
  std::vector<Line> result;
  for (size_t at = 0; at < lines.size();) {
    if (!lines[at].isFlag) {
      result.push_back(lines[at++]);
      continue;
    }
    Pipe pipe = lines[at].pipes.front();
    size_t end = at + 1;
    for (size_t next = end;
         next < lines.size() && lines[next].indent == lines[at].indent && runsOn(lines[next], pipe);
         ++next)
      if (lines[next].isFlag)
        end = next + 1;
    result.push_back({lines[at].indent,
                      ("with T.rs(\"PIPE_" + stringifyPipe(pipe) + "\"):").str(),
                      lines[at].source,
                      {},
                      false});
    for (; at < end; ++at) {
      result.push_back(lines[at]);
      ++result.back().indent;
    }
  }
  return result;
}

} // namespace

FailureOr<std::string> to_expert::exportKernel(func::FuncOp host,
                                               const std::vector<Parameter> &parameters,
                                               const std::vector<std::string> &symbols) {
  Names names;
  std::vector<Line> lines;
  std::string function = names.fresh(host.getName());
  std::string declared, signature, views;
  for (const std::string &symbol : symbols) {
    names.fresh(symbol);
    declared += symbol + " = T.dynamic(" + quoted(symbol) + ")\n";
  }
  llvm::DenseMap<Value, std::string> values;
  std::vector<std::string> parameterNames;
  for (auto [index, parameter] : llvm::enumerate(parameters)) {
    std::string name = names.fresh(parameter.name);
    parameterNames.push_back(name);
    values[host.getArgument(index)] = name;
    if (parameter.alias < 0)
      signature += "    " + name + ": " + parameter.annotation + ",\n";
    else
      views += "    " + name + " = " + StringRef(parameter.annotation).drop_back().str() + ", " +
               parameterNames[parameter.alias] + ".data)\n";
  }
  names.fresh("half");
  for (npu::LaunchOp launch : host.getOps<npu::LaunchOp>()) {
    std::vector<std::string> operands;
    for (Value operand : launch.getOperands()) {
      auto found = values.find(operand);
      if (found != values.end())
        operands.push_back(found->second);
      else if (Operation *op = operand.getDefiningOp(); op && op->hasAttr("name"))
        operands.push_back(op->getAttrOfType<StringAttr>("name").str()); // a symbolic size
    }
    if (operands.size() != launch.getNumOperands() ||
        failed(Emitter(names, lines).launch(launch, operands)))
      return failure();
  }

  std::string text = "import tilewright as tilelang\nimport tilewright.language as T\n\n" +
                     declared + (declared.empty() ? "" : "\n") + "\n@T.prim_func\ndef " + function +
                     "(\n" + signature + "):\n" + views;
  Sources sources;
  std::string said;
  for (const Line &line : grouped(lines)) {
    std::string out = std::string(4 * line.indent, ' ') + line.text;
    if (line.source != said && !line.source.empty())
      if (std::string from = sources.lineAt(line.source); !from.empty()) {
        std::string number = StringRef(line.source).rsplit(':').second.str();
        std::string comment = "  # " + number + ": " + from;
        if (out.size() + comment.size() > kWidth)
          text += std::string(4 * line.indent, ' ') + comment.substr(2) + "\n";
        else
          out += comment;
        said = line.source;
      }
    text += out + "\n";
  }
  return text;
}
