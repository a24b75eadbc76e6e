// RUN: tilewright-opt %s --tile-vectorize-parallel --split-input-file --verify-diagnostics

// One case per message, and the remarks of what stays scalar.

#g = #tile.scope<global>

func.func @no_bound(%x: memref<?xf32, #g>, %n: index) {
  %c1 = arith.constant 1 : index
  tile.launch (%bx) in (%c1) {
    // expected-error @+1 {{extent of dimension 0 has no bound that is known at compile time, and statements of the loop depend on each other; write the extent as a minimum with a constant}}
    tile.parallel (%i) in (%n) {
      %next = arith.addi %i, %c1 : index
      %v = tile.load %x[%next] : memref<?xf32, #g> -> f32
      tile.store %v, %x[%i] : f32, memref<?xf32, #g>
    }
  }
  return
}

// -----

#g = #tile.scope<global>

func.func @start_per_lane(%x: memref<8x8xf32, #g>) {
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%bx) in (%c1) {
    tile.parallel (%i) in (%c8) {
      // expected-error @+1 {{E0706: the loop starts at a bound that depends on the point of T.Parallel; start at a common one}}
      scf.for %k = %i to %c8 step %c1 {
        tile.store %zero, %x[%i, %k] : f32, memref<8x8xf32, #g>
      }
    }
  }
  return
}

// -----

#g = #tile.scope<global>

func.func @nested_extent(%x: memref<8x8xf32, #g>) {
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%bx) in (%c1) {
    tile.parallel (%i) in (%c8) {
      %n = arith.minsi %i, %c8 : index
      // expected-error @+1 {{extent of a nested loop depends on the lanes of the outer one}}
      tile.parallel (%j) in (%n) {
        tile.store %zero, %x[%i, %j] : f32, memref<8x8xf32, #g>
      }
    }
  }
  return
}

// -----

#g = #tile.scope<global>

#l = #tile.scope<local>

func.func @variable_of_a_nested_loop(%x: memref<8x8xf32, #g>) {
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  tile.launch (%bx) in (%c1) {
    %v = tile.alloc "v" : memref<f32, #l>
    // expected-error @+1 {{scalar variable 'v' gets a value per point of a nested loop; use a tile}}
    tile.parallel (%i) in (%c8) {
      tile.parallel (%j) in (%c8) {
        %a = tile.load %x[%i, %j] : memref<8x8xf32, #g> -> f32
        tile.store %a, %v[] : f32, memref<f32, #l>
      }
      %b = tile.load %v[] : memref<f32, #l> -> f32
      tile.store %b, %x[%i, %c1] : f32, memref<8x8xf32, #g>
    }
  }
  return
}

// -----

#g = #tile.scope<global>

func.func @other_region(%x: memref<8xf32, #g>) {
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%bx) in (%c1) {
    tile.parallel (%i) in (%c8) {
      // expected-error @+1 {{cannot stand inside T.Parallel}}
      scf.execute_region {
        tile.store %zero, %x[%i] : f32, memref<8xf32, #g>
        scf.yield
      }
    }
  }
  return
}

// -----

#g = #tile.scope<global>

func.func @fallbacks(%x: memref<32xi32, #g> {tile.name = "x"}, %n: index) {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %one = arith.constant 1 : i32
  tile.launch (%bx) in (%c1) {
    tile.parallel (%i) in (%c8) {
      %k = arith.muli %i, %c2 : index
      %v = tile.load %x[%i] : memref<32xi32, #g> -> i32
      // expected-remark @+1 {{[tile-vectorize-parallel] fallback: 'math.ctpop' has no element-wise form; it runs as scalar loops}}
      %w = math.ctpop %v : i32
      tile.store %w, %x[%i] : i32, memref<32xi32, #g>
      // expected-remark @+1 {{[tile-vectorize-parallel] fallback: index `2*i0` of dimension 0 of 'x' has a stride; it runs as scalar loops}}
      %u = tile.load %x[%k] : memref<32xi32, #g> -> i32
      tile.store %u, %x[%i] : i32, memref<32xi32, #g>
    }
    tile.parallel (%i, %j) in (%c8, %c2) {
      %s = arith.addi %i, %j : index
      %k = arith.muli %s, %c2 : index
      // expected-remark @+1 {{fallback: index `2*i0 + 2*i1` of dimension 0 of 'x' mixes loop variables; it runs as scalar loops}}
      tile.store %one, %x[%k] : i32, memref<32xi32, #g>
    }
    tile.parallel (%i) in (%c8) {
      %k = arith.muli %i, %n : index
      // expected-remark @+1 {{fallback: index `(i0 * x)` of dimension 0 of 'x' is not affine in the loop variables; it runs as scalar loops}}
      tile.store %one, %x[%k] : i32, memref<32xi32, #g>
    }
    tile.parallel (%i) in (%c8) {
      %v = tile.load %x[%i] : memref<32xi32, #g> -> i32
      %c = arith.cmpi sgt, %v, %one : i32
      scf.if %c {
        // expected-remark @+1 {{fallback: a store outside the chip under a condition that is no box; it runs as scalar loops}}
        tile.store %one, %x[%i] : i32, memref<32xi32, #g>
      }
    }
  }
  return
}
