// Text that the verifiers refuse, each with its message.
// RUN: tilewright-opt --split-input-file --verify-diagnostics %s

#ub = #tile.scope<ub>

func.func @no_grid() {
  // expected-error@+1 {{takes 1 to 3 grid extents, found 0}}
  tile.launch () in () {
  }
  return
}

// -----

func.func @four_extents(%n: index) {
  // expected-error@+1 {{takes 1 to 3 grid extents, found 4}}
  tile.launch (%a, %b, %c, %d) in (%n, %n, %n, %n) {
  }
  return
}

// -----

func.func @arguments(%n: index) {
  // expected-error@+1 {{needs one index argument per extent: 2 extents, 1 arguments}}
  tile.parallel (%i) in (%n, %n) {
  }
  return
}

// -----

func.func @global_tile() {
  // expected-error@+1 {{cannot allocate global memory}}
  %T = tile.alloc "T" : memref<4xf32, #tile.scope<global>>
  return
}

// -----

func.func @dynamic_tile() {
  // expected-error@+1 {{on-chip tile 'T' needs a shape that is known at compile time, found 'memref<?xf32, #tile.scope<ub>>'}}
  %T = tile.alloc "T" : memref<?xf32, #tile.scope<ub>>
  return
}

// -----

func.func @local_tile() {
  // expected-error@+1 {{local scope holds scalar variables (rank 0), found 'memref<4xf32, #tile.scope<local>>'}}
  %T = tile.alloc "T" : memref<4xf32, #tile.scope<local>>
  return
}

// -----

func.func @slots() {
  // expected-error@+1 {{needs at least one slot}}
  %T = tile.alloc "T" {slots = 0 : i64} : memref<4xf32, #tile.scope<ub>>
  return
}

// -----

func.func @load_rank(%A: memref<4x4xf32>, %i: index) {
  // expected-error@+1 {{needs 2 indices, found 1}}
  %x = tile.load %A[%i] : memref<4x4xf32> -> f32
  return
}

// -----

func.func @load_type(%A: memref<4xf16>, %i: index) {
  // expected-error@+1 {{element is 'f16', the scalar is 'f32'}}
  %x = tile.load %A[%i] : memref<4xf16> -> f32
  return
}

// -----

func.func @store_type(%A: memref<4xui8>, %i: index, %x: i16) {
  // expected-error@+1 {{element is 'ui8', the scalar is 'i16'}}
  tile.store %x, %A[%i] : i16, memref<4xui8>
  return
}

// -----

func.func @copy_sizes(%A: memref<8x8xf32>, %B: memref<8x8xf32>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  // expected-error@+1 {{copies a box of sizes (8, 4) to one of sizes (4, 4); they must be equal once dimensions of size 1 are dropped}}
  tile.copy(%A[%c0, %c0] [%c4, %c4] : memref<8x8xf32>, %B[%c0, %c0] [%c8, %c4] : memref<8x8xf32>)
  return
}

// -----

func.func @copy_boxes(%A: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  // expected-error@+1 {{takes 2 to 2 boxes, found 1}}
  tile.copy(%A[%c0] [%c4] : memref<8xf32>)
  return
}

// -----

func.func @numbers(%A: memref<8x8xf32>, %s: f32) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  // expected-error@+1 {{needs one offset and one size per dimension: the buffers have 2 dimensions, found 1 offsets and 2 sizes}}
  tile.fill %s : f32, (%A[%c0] [%c4, %c4] : memref<8x8xf32>)
  return
}

// -----

func.func @outside(%s: f32) {
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %T = tile.alloc "T" : memref<4xf32, #tile.scope<ub>>
  // expected-error@+1 {{box reaches outside T: dimension 0 has extent 4, the box starts at 2 with size 3}}
  tile.fill %s : f32, (%T[%c2] [%c3] : memref<4xf32, #tile.scope<ub>>)
  return
}

// -----

func.func @negative(%s: f32, %A: memref<4xf32> {tile.name = "A"}) {
  %c0 = arith.constant 0 : index
  %m1 = arith.constant -1 : index
  // expected-error@+1 {{box of A has negative size -1 in dimension 0}}
  tile.fill %s : f32, (%A[%c0] [%m1] : memref<4xf32>)
  return
}

// -----

func.func @fill_type(%s: f32, %A: memref<4xf16>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  // expected-error@+1 {{fills elements of type 'f16' with a 'f32'}}
  tile.fill %s : f32, (%A[%c0] [%c4] : memref<4xf16>)
  return
}

// -----

func.func @gemm_k(%A: memref<4x8xf16>, %B: memref<4x4xf16>, %C: memref<4x4xf32>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  // expected-error@+1 {{K mismatch: A is 4 x 8, B is 4 x 4}}
  tile.gemm(%C[%c0, %c0] [%c4, %c4] : memref<4x4xf32>, %A[%c0, %c0] [%c4, %c8] : memref<4x8xf16>, %B[%c0, %c0] [%c4, %c4] : memref<4x4xf16>)
  return
}

// -----

func.func @gemm_transposed(%A: memref<4x8xf16>, %B: memref<4x4xf16>, %C: memref<4x4xf32>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  // expected-error@+1 {{C is 4 x 4 but A.B is 8 x 4}}
  tile.gemm(%C[%c0, %c0] [%c4, %c4] : memref<4x4xf32>, %A[%c0, %c0] [%c4, %c8] : memref<4x8xf16>, %B[%c0, %c0] [%c4, %c4] : memref<4x4xf16>) {transpose_a}
  return
}

// -----

func.func @gemm_rank(%A: memref<2x4x8xf16>, %B: memref<8x4xf16>, %C: memref<4x4xf32>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  // expected-error@+1 {{operand A must be a matrix, found a box of sizes (2, 4, 8)}}
  tile.gemm(%C[%c0, %c0] [%c4, %c4] : memref<4x4xf32>, %A[%c0, %c0, %c0] [%c2, %c4, %c8] : memref<2x4x8xf16>, %B[%c0, %c0] [%c8, %c4] : memref<8x4xf16>)
  return
}

// -----

func.func @gemm_types(%A: memref<4x4xf16>, %B: memref<4x4xbf16>, %C: memref<4x4xf32>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  // expected-error@+1 {{A and B must have one element type, found 'f16' and 'bf16'}}
  tile.gemm(%C[%c0, %c0] [%c4, %c4] : memref<4x4xf32>, %A[%c0, %c0] [%c4, %c4] : memref<4x4xf16>, %B[%c0, %c0] [%c4, %c4] : memref<4x4xbf16>)
  return
}

// -----

func.func @gemm_accumulator(%A: memref<4x4xi8>, %C: memref<4x4xi16>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  // expected-error@+1 {{a product of 'i8' accumulates in i32, found 'i16'}}
  tile.gemm(%C[%c0, %c0] [%c4, %c4] : memref<4x4xi16>, %A[%c0, %c0] [%c4, %c4] : memref<4x4xi8>, %A[%c0, %c0] [%c4, %c4] : memref<4x4xi8>)
  return
}

// -----

func.func @reduce_dim(%A: memref<4x8xf32>, %R: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  // expected-error@+1 {{dimension 2 is out of range for a source of rank 2}}
  tile.reduce <sum>(%R[%c0] [%c4] : memref<4xf32>, %A[%c0, %c0] [%c4, %c8] : memref<4x8xf32>) dims = [2]
  return
}

// -----

func.func @reduce_kept(%A: memref<4x8xf32>, %R: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  // expected-error@+1 {{keeps sizes (8) of the source, the destination is (4)}}
  tile.reduce <sum>(%R[%c0] [%c4] : memref<4xf32>, %A[%c0, %c0] [%c4, %c8] : memref<4x8xf32>) dims = [0]
  return
}

// -----

func.func @scan_dim(%A: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  // expected-error@+1 {{dimension -1 is out of range for a source of rank 1}}
  tile.scan <sum>(%A[%c0] [%c4] : memref<4xf32>, %A[%c0] [%c4] : memref<4xf32>) dim = -1
  return
}

// -----

func.func @operand_count(%A: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  // expected-error@+1 {{add takes 2 operands, found 1}}
  tile.elementwise <add>(%A[%c0] [%c4] : memref<4xf32>, %A[%c0] [%c4] : memref<4xf32>)
  return
}

// -----

func.func @ranks_differ(%A: memref<4xf32>, %B: memref<4x4xf32>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  // expected-error@+1 {{boxes of different rank need maps}}
  tile.elementwise <exp>(%B[%c0, %c0] [%c4, %c4] : memref<4x4xf32>, %A[%c0] [%c4] : memref<4xf32>)
  return
}

// -----

func.func @broadcast_size(%A: memref<2xf32>, %B: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  // expected-error@+1 {{box 1 has size 2 in dimension 0, the domain needs 4}}
  tile.elementwise <exp>(%B[%c0] [%c4] : memref<4xf32>, %A[%c0] [%c2] : memref<2xf32>)
  return
}

// -----

func.func @map_twice(%A: memref<4x4xf32>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  // expected-error@+1 {{the destination's map must use every domain dimension once}}
  tile.elementwise <exp>(%A[%c0, %c0] [%c4, %c4] : memref<4x4xf32>, %A[%c0, %c0] [%c4, %c4] : memref<4x4xf32>)
    {maps = [array<i64: 0, 0>, array<i64: 0, 1>]}
  return
}

// -----

func.func @map_out_of_range(%A: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  // expected-error@+1 {{map of box 1 names domain dimension 1 of 1}}
  tile.elementwise <exp>(%A[%c0] [%c4] : memref<4xf32>, %A[%c0] [%c4] : memref<4xf32>) {maps = [array<i64: 0>, array<i64: 1>]}
  return
}

// -----

func.func @map_count(%A: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  // expected-error@+1 {{needs one map per box, found 1 for 2}}
  tile.elementwise <exp>(%A[%c0] [%c4] : memref<4xf32>, %A[%c0] [%c4] : memref<4xf32>) {maps = [array<i64: 0>]}
  return
}

// -----

func.func @map_rank(%A: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  // expected-error@+1 {{map of box 1 must have one entry per dimension}}
  tile.elementwise <exp>(%A[%c0] [%c4] : memref<4xf32>, %A[%c0] [%c4] : memref<4xf32>) {maps = [array<i64: 0>, array<i64: 0, 0>]}
  return
}

// -----

func.func @iota_steps(%A: memref<4xi32>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  // expected-error@+1 {{needs one step per dimension, found 2}}
  tile.iota(%A[%c0] [%c4] : memref<4xi32>) from %c0 by (%c4, %c4)
  return
}

// -----

func.func @atomic_sources(%A: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  // expected-error@+1 {{takes a destination and one source (box or scalar)}}
  tile.atomic <sum>(%A[%c0] [%c4] : memref<4xf32>)
  return
}

// -----

func.func @atomic_before_many(%A: memref<4xf32>, %s: f32) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  // expected-error@+1 {{gives what was there for one element and a scalar of its type}}
  %before = tile.atomic <sum>(%A[%c0] [%c4] : memref<4xf32>) scalar %s : f32 -> f32
  return
}

// -----

func.func @not_a_scope() {
  // expected-error@+2 {{expected ::tilewright::tile::Scope to be one of: global, shared, fragment, local, l1, l0a, l0b, l0c, ub, workspace}}
  // expected-error@+1 {{failed to parse}}
  %T = tile.alloc "T" : memref<4xf32, #tile.scope<somewhere>>
  return
}

// -----

func.func @stray_end() {
  // expected-error@+1 {{expects parent op to be one of 'tile.launch, tile.parallel'}}
  tile.end
}

// -----

func.func @flag_to_itself(%n: index) {
  // expected-error@+1 {{needs two different pipes, found V and V}}
  tile.set_flag <V> to <V> id %n
  return
}

// -----

func.func @bits_of_another_width(%A: memref<8xf16>, %B: memref<8xi32>) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  // expected-error@+1 {{bitcast needs two tiles whose elements are equally wide}}
  tile.elementwise <bitcast> (%B[%c0] [%c8] : memref<8xi32>, %A[%c0] [%c8] : memref<8xf16>)
  return
}

// -----

func.func @view_of_other_size() {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) {
    %A = tile.alloc "A" : memref<8xf16, #tile.scope<shared>>
    // expected-error@+1 {{needs as many bits as the tile has: 128, found 256}}
    %V = tile.view "V" %A : memref<8xf16, #tile.scope<shared>> to memref<8xf32, #tile.scope<shared>>
  }
  return
}

// -----

func.func @view_elsewhere() {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) {
    %A = tile.alloc "A" : memref<8xf16, #tile.scope<shared>>
    // expected-error@+1 {{takes a tile of static shape and keeps its place}}
    %V = tile.view "V" %A : memref<8xf16, #tile.scope<shared>> to memref<4xf32, #tile.scope<ub>>
  }
  return
}

// -----

func.func @view_of_a_view() {
  %c1 = arith.constant 1 : index
  tile.launch (%b) in (%c1) {
    %A = tile.alloc "A" : memref<8xf32, #tile.scope<shared>>
    %V = tile.view "V" %A : memref<8xf32, #tile.scope<shared>> to memref<16xf16, #tile.scope<shared>>
    // expected-error@+1 {{views a view; name the memory itself}}
    %W = tile.view "W" %V : memref<16xf16, #tile.scope<shared>> to memref<8xi32, #tile.scope<shared>>
  }
  return
}
