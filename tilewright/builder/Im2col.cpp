// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// T.im2col: the patches of an image that a convolution multiplies, a tile at a time.
#include "tilewright/builder/BuilderImpl.h"

using namespace mlir;

namespace tilewright::builder {

namespace {

/// Places in the image of the rows and columns of the tile.
class Patches {
public:
  Patches(KernelBuilder::Impl &b, const Buffer &image, ArrayRef<int64_t> window)
      : b(b), kernel(window[0]), stride(window[1]), dilation(window[2]), pad(window[3]) {
    height = b.extent(image, 1);
    width = b.extent(image, 2);
    channels = b.extent(image, 3);
    outHeight = outputs(height);
    outWidth = outputs(width);
  }

  /// Image index (n, y, x, c) of row `row` and column `column` of the whole matrix.
  std::vector<Value> at(const Value &row, const Value &column) {
    Value place = op("floordiv", row, outWidth), tap = op("floordiv", column, channels);
    Value y = op("floormod", place, outHeight), x = op("floormod", row, outWidth);
    Value n = op("floordiv", place, outHeight), c = op("floormod", column, channels);
    return {n, along(y, op("floordiv", tap, number(kernel))),
            along(x, op("floormod", tap, number(kernel))), c};
  }

  /// Whether neighbours along a row of outputs are neighbours in the image.
  bool isDense() const { return stride == 1; }

  Value channels, outWidth;

private:
  static Value number(int64_t value) { return Value::number(value); }
  Value op(StringRef function, const Value &left, const Value &right) {
    return b.binary(function, left, right);
  }
  /// Windows along one side of the image.
  Value outputs(const Value &extent) {
    Value span = op("add", extent, number(2 * pad - dilation * (kernel - 1) - 1));
    return op("add", op("floordiv", span, number(stride)), number(1));
  }
  Value along(const Value &place, const Value &tap) {
    Value start = op("sub", op("mul", place, number(stride)), number(pad));
    return op("add", start, op("mul", tap, number(dilation)));
  }

  KernelBuilder::Impl &b;
  Value height, width, outHeight;
  int64_t kernel, stride, dilation, pad;
};

} // namespace

/// Where the channels are a multiple of the tile's columns, a row of the tile is one run of them
/// and is copied, with zeros outside the image; else each element is read by itself. With stride 1
/// the rows that belong to one row of outputs are copied together.
void KernelBuilder::im2col(const Buffer &image, const Buffer &tile, const Value &rowStep,
                           const Value &columnStep, const std::vector<int64_t> &window) {
  Impl &b = *impl;
  b.requireLaunch("T.im2col stands");
  if (image.shape.size() != 4 || b.scopeOf(image) != tile::Scope::Global)
    fail("E0461: T.im2col: the image is " + b.describe(image) +
         "; a tensor (N, H, W, C) is needed");
  if (tile.shape.size() != 2 || b.scopeOf(tile) == tile::Scope::Global)
    fail("E0461: T.im2col: " + b.describe(tile) + " must be a tile of two dimensions");
  if (window[0] < 1 || window[1] < 1 || window[2] < 1 || window[3] < 0)
    fail("E0461: T.im2col: kernel, stride and dilation are 1 or more and padding is 0 or more");
  Patches patches(b, image, window);
  Value zero = Value::number(int64_t(0)), one = Value::number(int64_t(1));
  Value rows = Value::number(tile.shape[0]), columns = Value::number(tile.shape[1]);
  Value firstRow = b.binary("mul", rowStep, rows),
        firstColumn = b.binary("mul", columnStep, columns);
  auto known = constantInteger(patches.channels);
  if (known && *known % tile.shape[1] == 0) {
    // Copies rows [row, row + count) of the tile.
    auto copyRows = [&](const Value &row, const Value &count) {
      Operand run, target;
      run.buffer = image;
      run.starts = patches.at(b.binary("add", firstRow, row), firstColumn);
      run.sizes = {one, one, count, columns};
      target.buffer = tile;
      target.starts = {row, zero};
      target.sizes = {count, columns};
      for (Operand *part : {&run, &target}) {
        part->kind = Operand::Kind::Region;
        part->scalars.assign(part->sizes.size(), true);
        part->scalars.back() = part->scalars[part->sizes.size() - 2] = false;
      }
      copy(run, target, {});
    };
    auto width = constantInteger(patches.outWidth);
    if (!patches.isDense()) {
      copyRows(beginFor(zero, rows, one, 0), one);
      endFor();
    } else if (width && *width > 0 && *width % tile.shape[0] == 0) {
      copyRows(zero, rows);
    } else if (width && *width > 0 && tile.shape[0] % *width == 0) {
      Value run = beginFor(zero, Value::number(tile.shape[0] / *width), one, 0);
      copyRows(b.binary("mul", run, patches.outWidth), patches.outWidth);
      endFor();
    } else {
      // Rows of outputs from the one that the tile begins in to the one that it ends in.
      Value first = b.binary("floordiv", firstRow, patches.outWidth);
      Value past = b.binary("add", firstRow, rows);
      Value last = b.binary("floordiv", b.binary("sub", past, one), patches.outWidth);
      Value line = beginFor(first, b.binary("add", last, one), one, 0);
      Value from = b.binary("max", firstRow, b.binary("mul", line, patches.outWidth));
      Value to =
          b.binary("min", past, b.binary("mul", b.binary("add", line, one), patches.outWidth));
      copyRows(b.binary("sub", from, firstRow), b.binary("sub", to, from));
      endFor();
    }
    return;
  }
  std::vector<Value> lanes = beginParallel({rows, columns});
  std::vector<Value> from =
      patches.at(b.binary("add", firstRow, lanes[0]), b.binary("add", firstColumn, lanes[1]));
  store(load(image, from), tile, lanes);
  endParallel();
}

} // namespace tilewright::builder
