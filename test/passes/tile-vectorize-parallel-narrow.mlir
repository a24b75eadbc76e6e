// RUN: tilewright-opt %s --tile-vectorize-parallel --canonicalize 2>/dev/null | FileCheck %s
// RUN: tilewright-run %s --function narrow --set 3=5 > %t.before
// RUN: tilewright-opt %s --tile-vectorize-parallel 2>/dev/null | tilewright-run --function narrow --set 3=5 > %t.after
// RUN: diff %t.before %t.after
// RUN: tilewright-run %s --function wide --set 3=5 > %t.before
// RUN: tilewright-opt %s --tile-vectorize-parallel 2>/dev/null | tilewright-run --function wide --set 3=5 > %t.after
// RUN: diff %t.before %t.after
// RUN: tilewright-run %s --function bytes > %t.before
// RUN: tilewright-opt %s --tile-vectorize-parallel 2>/dev/null | tilewright-run --function bytes > %t.after
// RUN: diff %t.before %t.after
// RUN: tilewright-run %s --function remainders > %t.before
// RUN: tilewright-opt %s --tile-vectorize-parallel 2>/dev/null | tilewright-run --function remainders > %t.after
// RUN: diff %t.before %t.after

// Choices and comparisons of loop variables in 32 bits, where that is the same.

#g = #tile.scope<global>
#s = #tile.scope<shared>

// CHECK-LABEL: func.func @narrow
// CHECK-NOT: tile.parallel
func.func @narrow(%x: memref<16x24xf32, #g> {tile.name = "x"}, %idx: memref<16xi32, #g> {tile.name = "idx"},
                  %out: memref<16x24xi32, #g> {tile.name = "out"}, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  %c16 = arith.constant 16 : index
  %c24 = arith.constant 24 : index
  %c100 = arith.constant 100 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%bx) in (%c1) {
    %a = tile.alloc "a" : memref<16x24xf32, #s>
    %w = tile.alloc "w" : memref<16xi32, #s>
    %o = tile.alloc "o" : memref<16x24xi32, #s>
    tile.copy (%a[%c0, %c0] [%c16, %c24] : memref<16x24xf32, #s>, %x[%c0, %c0] [%c16, %c24] : memref<16x24xf32, #g>)
    tile.copy (%w[%c0] [%c16] : memref<16xi32, #s>, %idx[%c0] [%c16] : memref<16xi32, #g>)
    // A choice of a choice, stored as i32: no tile of all elements has 64 bits.
    // CHECK-NOT: memref<16x24xi64
    // CHECK: tile.elementwise <select> ({{.*}}memref<16x24xi32
    tile.parallel (%i, %j) in (%c16, %c24) {
      %0 = tile.load %a[%i, %j] : memref<16x24xf32, #s> -> f32
      %1 = arith.cmpf ogt, %0, %zero : f32
      %2 = arith.muli %bx, %c24 : index
      %3 = arith.addi %2, %j : index
      %4 = arith.select %1, %3, %c100 : index
      %5 = tile.load %w[%i] : memref<16xi32, #s> -> i32
      // An element of 32 bits against a loop variable.
      %6 = arith.index_cast %5 : i32 to index
      %7 = arith.addi %j, %c7 : index
      %8 = arith.cmpi slt, %6, %7 : index
      %9 = arith.select %8, %4, %c0 : index
      %10 = arith.index_cast %9 : index to i32
      tile.store %10, %o[%i, %j] : i32, memref<16x24xi32, #s>
    }
    // A choice between a loop variable and an element, which is read as it is.
    // CHECK-NOT: memref<16x24xi64
    // CHECK: tile.elementwise <select> ({{.*}}memref<16x24xi32
    // CHECK-NOT: memref<16x24xi64
    // CHECK: tile.copy
    tile.parallel (%i, %j) in (%c16, %c24) {
      %0 = tile.load %a[%i, %j] : memref<16x24xf32, #s> -> f32
      %1 = arith.cmpf ogt, %0, %zero : f32
      %2 = tile.load %o[%i, %j] : memref<16x24xi32, #s> -> i32
      %3 = arith.index_cast %2 : i32 to index
      %4 = arith.select %1, %j, %3 : index
      %5 = arith.index_cast %4 : index to i32
      tile.store %5, %o[%i, %j] : i32, memref<16x24xi32, #s>
    }
    tile.copy (%out[%c0, %c0] [%c16, %c24] : memref<16x24xi32, #g>, %o[%c0, %c0] [%c16, %c24] : memref<16x24xi32, #s>)
  }
  return
}

// What may be any number is compared in 64 bits.
// CHECK-LABEL: func.func @wide
// CHECK: tile.elementwise <lt> ({{.*}}memref<16xi64
func.func @wide(%x: memref<16x24xf32, #g> {tile.name = "x"}, %idx: memref<16xi32, #g> {tile.name = "idx"},
                %out: memref<16x24xi32, #g> {tile.name = "out"}, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  tile.launch (%bx) in (%c1) {
    %w = tile.alloc "w" : memref<16xi32, #s>
    %o = tile.alloc "o" : memref<16xi32, #s>
    tile.copy (%w[%c0] [%c16] : memref<16xi32, #s>, %idx[%c0] [%c16] : memref<16xi32, #g>)
    tile.parallel (%i) in (%c16) {
      %0 = tile.load %w[%i] : memref<16xi32, #s> -> i32
      %1 = arith.index_cast %0 : i32 to index
      %2 = arith.addi %i, %n : index
      %3 = arith.cmpi slt, %1, %2 : index
      %4 = arith.select %3, %one, %two : i32
      tile.store %4, %o[%i] : i32, memref<16xi32, #s>
    }
    tile.copy (%out[%c0, %c0] [%c1, %c16] : memref<16x24xi32, #g>, %o[%c0] [%c16] : memref<16xi32, #s>)
  }
  return
}

// Bytes that are computed with as numbers of 32 bits and stored as bytes: 16 bits are enough where only low bits
// count, and before a shift to the right where the number has no more.
// CHECK-LABEL: func.func @bytes
// CHECK: tile.copy
// CHECK-NOT: memref<16x24xi32
// CHECK: tile.elementwise <cast> ({{.*}}memref<16x24xi16{{.*}}memref<16x24xui8
// CHECK: tile.elementwise <shr> ({{.*}}memref<16x24xi16
// CHECK: tile.elementwise <mul> ({{.*}}memref<16x24xi16
// CHECK-NOT: memref<16x24xi32
// CHECK: tile.elementwise <cast> ({{.*}}memref<16x24xi8{{.*}}memref<16x24xi16
// A product of bytes may have more.
// CHECK: tile.elementwise <shr> ({{.*}}memref<16x24xi32
func.func @bytes(%x: memref<16x24xui8, #g> {tile.name = "x"}, %out: memref<16x24xi8, #g> {tile.name = "out"},
                 %high: memref<16x24xi8, #g> {tile.name = "high"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c24 = arith.constant 24 : index
  %4 = arith.constant 4 : i32
  %8 = arith.constant 8 : i32
  %13 = arith.constant 13 : i32
  tile.launch (%bx) in (%c1) {
    %a = tile.alloc "a" : memref<16x24xui8, #s>
    %o = tile.alloc "o" : memref<16x24xi8, #s>
    %h = tile.alloc "h" : memref<16x24xi8, #s>
    tile.copy (%a[%c0, %c0] [%c16, %c24] : memref<16x24xui8, #s>, %x[%c0, %c0] [%c16, %c24] : memref<16x24xui8, #g>)
    tile.parallel (%i, %j) in (%c16, %c24) {
      %v = tile.load %a[%i, %j] : memref<16x24xui8, #s> -> i8
      %w = arith.extui %v : i8 to i32
      %s = arith.shrsi %w, %4 : i32
      %t = arith.xori %s, %8 : i32
      %u = arith.subi %t, %8 : i32
      %m = arith.muli %u, %13 : i32
      %r = arith.trunci %m : i32 to i8
      tile.store %r, %o[%i, %j] : i8, memref<16x24xi8, #s>
    }
    tile.parallel (%i, %j) in (%c16, %c24) {
      %v = tile.load %a[%i, %j] : memref<16x24xui8, #s> -> i8
      %w = arith.extui %v : i8 to i32
      %m = arith.muli %w, %w : i32
      %s = arith.shrsi %m, %8 : i32
      %r = arith.trunci %s : i32 to i8
      tile.store %r, %h[%i, %j] : i8, memref<16x24xi8, #s>
    }
    tile.copy (%out[%c0, %c0] [%c16, %c24] : memref<16x24xi8, #g>, %o[%c0, %c0] [%c16, %c24] : memref<16x24xi8, #s>)
    tile.copy (%high[%c0, %c0] [%c16, %c24] : memref<16x24xi8, #g>, %h[%c0, %c0] [%c16, %c24] : memref<16x24xi8, #s>)
  }
  return
}

// Remainders of loop variables, as shifts of packed elements have them, are no numbers of 64 bits.
// CHECK-LABEL: func.func @remainders
// CHECK-NOT: {{xi64|: i64}}
// CHECK: tile.elementwise <rem> ({{.*}}memref<24xi32
// CHECK-NOT: {{xi64|: i64}}
// CHECK: return
func.func @remainders(%x: memref<16x24xi32, #g> {tile.name = "x"}, %out: memref<16x24xi32, #g> {tile.name = "out"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %c24 = arith.constant 24 : index
  tile.launch (%bx) in (%c1) {
    %a = tile.alloc "a" : memref<16x24xi32, #s>
    tile.copy (%a[%c0, %c0] [%c16, %c24] : memref<16x24xi32, #s>, %x[%c0, %c0] [%c16, %c24] : memref<16x24xi32, #g>)
    tile.parallel (%i, %j) in (%c16, %c24) {
      %v = tile.load %a[%i, %j] : memref<16x24xi32, #s> -> i32
      %r = arith.remsi %j, %c2 : index
      %m = arith.muli %r, %c4 : index
      %s = arith.index_cast %m : index to i32
      %w = arith.shrsi %v, %s : i32
      tile.store %w, %a[%i, %j] : i32, memref<16x24xi32, #s>
    }
    tile.copy (%out[%c0, %c0] [%c16, %c24] : memref<16x24xi32, #g>, %a[%c0, %c0] [%c16, %c24] : memref<16x24xi32, #s>)
  }
  return
}
