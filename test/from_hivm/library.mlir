// RUN: tilewright-hivm --read %s | FileCheck %s
// RUN: sed 's/c0_i32, %%zero, %%c0)/c1_i32, %%zero, %%c0)/' %s | not tilewright-hivm --read - 2>&1 | FileCheck %s --check-prefix=PAD

// Calls of the library: what they do is in their names, where in their memrefs. A tile that is one
// of two at run time is a part of all UB; the numbers of a product's events become flags.

// CHECK-LABEL: func.func private @k_aic
// CHECK: %[[A:.*]] = npu.alloc "b{{[0-9]+}}" {address = 0 : i64} : memref<32x16xf16, #npu.space<l1>>
// CHECK: npu.load (%[[A]][{{.*}}] [%c20{{.*}}, %c16{{.*}}] : memref<32x16xf16
// CHECK: npu.wait_flag <MTE2> to <MTE1> id 3
// CHECK: npu.mmad {{.*}} {transpose_b}
// CHECK-NEXT: npu.set_flag <MTE1> to <MTE2> id 5
// CHECK: npu.fixpipe {{.*}} memref<32x32xf32, #npu.space<l0c>>
// CHECK-LABEL: func.func private @k_aiv
// CHECK: %[[UB:.*]] = npu.alloc "b{{[0-9]+}}" {address = 0 : i64} : memref<49152xf32, #npu.space<ub>>
// CHECK: %[[PLACE:.*]] = arith.select %{{.*}}, %c0{{.*}}, %c64{{.*}} : index
// CHECK: %[[TILE:.*]] = memref.reinterpret_cast %[[UB]] to offset: [%[[PLACE]]], sizes: [64]
// CHECK: npu.load (%[[TILE]][{{.*}}] [%c64{{.*}}]
// CHECK: npu.elementwise <mul> {{.*}} scalar %{{.*}} : f32
// CHECK: npu.elementwise <sub> {{.*}} scalar %{{.*}} : f32 {{.*}}scalar_first
// CHECK: npu.reduce <max> {{.*}} dims = [0]
// CHECK-LABEL: func.func @k(
// CHECK: npu.launch aic @k_aic aiv @k_aiv

// PAD: :[[#]]:5: error: a load that pads

module attributes {hacc.target = #hacc.target<"Ascend910B3">} {
  func.func private @nd2nz_half(memref<?x?xf16, strided<[?, ?], offset: ?>, #hivm.address_space<gm>>, memref<?x?x?x?xf16, strided<[?, ?, ?, ?], offset: ?>, #hivm.address_space<cbuf>>)
  func.func private @mma_tile_half_to_float_tb(memref<?x?x?x?xf16, strided<[?, ?, ?, ?], offset: ?>, #hivm.address_space<cbuf>>, memref<?x?x?x?xf16, strided<[?, ?, ?, ?], offset: ?>, #hivm.address_space<cbuf>>, i1, index, index, index, memref<?x?x?x?xf32, strided<[?, ?, ?, ?], offset: ?>, #hivm.address_space<cc>>, i64, i64, i64, i64, i64, i64, i64, i8)
  func.func private @fixpipe_nz2nd_float_to_float_4d_to_2d(memref<?x?x?x?xf32, strided<[?, ?, ?, ?], offset: ?>, #hivm.address_space<cc>>, memref<?x?xf32, strided<[?, ?], offset: ?>, #hivm.address_space<gm>>, i64, i64, i1, i8)
  func.func private @load_gm_to_ubuf_1d_float(memref<?xf32, strided<[?], offset: ?>, #hivm.address_space<gm>>, memref<?xf32, strided<[?], offset: ?>, #hivm.address_space<ub>>, i32, f32, index)
  func.func private @vmuls_vs_1d_float(memref<?xf32, strided<[?], offset: ?>, #hivm.address_space<ub>>, f32, memref<?xf32, strided<[?], offset: ?>, #hivm.address_space<ub>>)
  func.func private @vsub_sv_1d_float(f32, memref<?xf32, strided<[?], offset: ?>, #hivm.address_space<ub>>, memref<?xf32, strided<[?], offset: ?>, #hivm.address_space<ub>>)
  func.func private @enablevc_reduce_max_r_float(memref<?xf32, strided<[?], offset: ?>, #hivm.address_space<ub>>, memref<?xf32, strided<[?], offset: ?>, #hivm.address_space<ub>>)
  func.func @k_mix_aic(%arg0: i64 {hacc.arg_type = #hacc.arg_type<ffts_base_address>}, %a: memref<?xf16, #hivm.address_space<gm>>, %c: memref<?xf32, #hivm.address_space<gm>>, %x: i32, %y: i32, %z: i32) attributes {func_dyn_memref_args, hacc.function_kind = #hacc.function_kind<DEVICE>, hivm.func_core_type = #hivm.func_core_type<AIC>} {
    %c0_i64 = arith.constant 0 : i64
    %none = arith.constant -1 : i64
    %three = arith.constant 3 : i64
    %five = arith.constant 5 : i64
    %true = arith.constant true
    %c0_i8 = arith.constant 0 : i8
    %c16 = arith.constant 16 : index
    %c20 = arith.constant 20 : index
    %0 = "hivm.hir.pointer_cast"(%c0_i64) <{operandSegmentSizes = array<i32: 1, 0>}> : (i64) -> memref<1x2x16x16xf16, #hivm.address_space<cbuf>>
    %1 = "hivm.hir.pointer_cast"(%c0_i64) <{operandSegmentSizes = array<i32: 1, 0>}> : (i64) -> memref<2x2x16x16xf32, #hivm.address_space<cc>>
    %2 = memref.reinterpret_cast %a to offset: [0], sizes: [20, 16], strides: [16, 1] : memref<?xf16, #hivm.address_space<gm>> to memref<20x16xf16, strided<[16, 1]>, #hivm.address_space<gm>>
    %3 = memref.cast %2 : memref<20x16xf16, strided<[16, 1]>, #hivm.address_space<gm>> to memref<?x?xf16, strided<[?, ?], offset: ?>, #hivm.address_space<gm>>
    %4 = memref.cast %0 : memref<1x2x16x16xf16, #hivm.address_space<cbuf>> to memref<?x?x?x?xf16, strided<[?, ?, ?, ?], offset: ?>, #hivm.address_space<cbuf>>
    %5 = memref.cast %1 : memref<2x2x16x16xf32, #hivm.address_space<cc>> to memref<?x?x?x?xf32, strided<[?, ?, ?, ?], offset: ?>, #hivm.address_space<cc>>
    func.call @nd2nz_half(%3, %4) : (memref<?x?xf16, strided<[?, ?], offset: ?>, #hivm.address_space<gm>>, memref<?x?x?x?xf16, strided<[?, ?, ?, ?], offset: ?>, #hivm.address_space<cbuf>>) -> ()
    "hivm.hir.set_flag"() <{set_pipe = #hivm.pipe<PIPE_MTE2>, static_event_id = #hivm.event<EVENT_ID3>, wait_pipe = #hivm.pipe<PIPE_MTE1>}> : () -> ()
    func.call @mma_tile_half_to_float_tb(%4, %4, %true, %c20, %c16, %c20, %5, %three, %none, %five, %none, %none, %none, %none, %c0_i8) : (memref<?x?x?x?xf16, strided<[?, ?, ?, ?], offset: ?>, #hivm.address_space<cbuf>>, memref<?x?x?x?xf16, strided<[?, ?, ?, ?], offset: ?>, #hivm.address_space<cbuf>>, i1, index, index, index, memref<?x?x?x?xf32, strided<[?, ?, ?, ?], offset: ?>, #hivm.address_space<cc>>, i64, i64, i64, i64, i64, i64, i64, i8) -> ()
    "hivm.hir.pipe_barrier"() <{pipe = #hivm.pipe<PIPE_ALL>}> : () -> ()
    %6 = memref.reinterpret_cast %c to offset: [0], sizes: [20, 20], strides: [20, 1] : memref<?xf32, #hivm.address_space<gm>> to memref<20x20xf32, strided<[20, 1]>, #hivm.address_space<gm>>
    %7 = memref.cast %6 : memref<20x20xf32, strided<[20, 1]>, #hivm.address_space<gm>> to memref<?x?xf32, strided<[?, ?], offset: ?>, #hivm.address_space<gm>>
    %false = arith.constant false
    func.call @fixpipe_nz2nd_float_to_float_4d_to_2d(%5, %7, %c0_i64, %c0_i64, %false, %c0_i8) : (memref<?x?x?x?xf32, strided<[?, ?, ?, ?], offset: ?>, #hivm.address_space<cc>>, memref<?x?xf32, strided<[?, ?], offset: ?>, #hivm.address_space<gm>>, i64, i64, i1, i8) -> ()
    return
  }
  func.func @k_mix_aiv(%arg0: i64 {hacc.arg_type = #hacc.arg_type<ffts_base_address>}, %a: memref<?xf16, #hivm.address_space<gm>>, %c: memref<?xf32, #hivm.address_space<gm>>, %x: i32, %y: i32, %z: i32) attributes {func_dyn_memref_args, hacc.function_kind = #hacc.function_kind<DEVICE>, hivm.func_core_type = #hivm.func_core_type<AIV>} {
    %c0_i64 = arith.constant 0 : i64
    %c256_i64 = arith.constant 256 : i64
    %c512_i64 = arith.constant 512 : i64
    %c0_i32 = arith.constant 0 : i32
    %c1_i32 = arith.constant 1 : i32
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.0 : f32
    %two = arith.constant 2.0 : f32
    %id = "hivm.hir.get_block_idx"() : () -> i64
    %isFirst = arith.cmpi eq, %id, %c0_i64 : i64
    %0 = "hivm.hir.pointer_cast"(%c0_i64) <{operandSegmentSizes = array<i32: 1, 0>}> : (i64) -> memref<64xf32, #hivm.address_space<ub>>
    %1 = "hivm.hir.pointer_cast"(%c256_i64) <{operandSegmentSizes = array<i32: 1, 0>}> : (i64) -> memref<64xf32, #hivm.address_space<ub>>
    %2 = "hivm.hir.pointer_cast"(%c512_i64) <{operandSegmentSizes = array<i32: 1, 0>}> : (i64) -> memref<1xf32, #hivm.address_space<ub>>
    %3 = arith.select %isFirst, %0, %1 : memref<64xf32, #hivm.address_space<ub>>
    %4 = memref.cast %3 : memref<64xf32, #hivm.address_space<ub>> to memref<?xf32, strided<[?], offset: ?>, #hivm.address_space<ub>>
    %5 = memref.reinterpret_cast %c to offset: [0], sizes: [64], strides: [1] : memref<?xf32, #hivm.address_space<gm>> to memref<64xf32, strided<[1]>, #hivm.address_space<gm>>
    %6 = memref.cast %5 : memref<64xf32, strided<[1]>, #hivm.address_space<gm>> to memref<?xf32, strided<[?], offset: ?>, #hivm.address_space<gm>>
    %7 = memref.cast %2 : memref<1xf32, #hivm.address_space<ub>> to memref<?xf32, strided<[?], offset: ?>, #hivm.address_space<ub>>
    func.call @load_gm_to_ubuf_1d_float(%6, %4, %c0_i32, %zero, %c0) : (memref<?xf32, strided<[?], offset: ?>, #hivm.address_space<gm>>, memref<?xf32, strided<[?], offset: ?>, #hivm.address_space<ub>>, i32, f32, index) -> ()
    "hivm.hir.pipe_barrier"() <{pipe = #hivm.pipe<PIPE_ALL>}> : () -> ()
    func.call @vmuls_vs_1d_float(%4, %two, %4) : (memref<?xf32, strided<[?], offset: ?>, #hivm.address_space<ub>>, f32, memref<?xf32, strided<[?], offset: ?>, #hivm.address_space<ub>>) -> ()
    "hivm.hir.pipe_barrier"() <{pipe = #hivm.pipe<PIPE_V>}> : () -> ()
    func.call @vsub_sv_1d_float(%two, %4, %4) : (f32, memref<?xf32, strided<[?], offset: ?>, #hivm.address_space<ub>>, memref<?xf32, strided<[?], offset: ?>, #hivm.address_space<ub>>) -> ()
    "hivm.hir.pipe_barrier"() <{pipe = #hivm.pipe<PIPE_V>}> : () -> ()
    func.call @enablevc_reduce_max_r_float(%4, %7) : (memref<?xf32, strided<[?], offset: ?>, #hivm.address_space<ub>>, memref<?xf32, strided<[?], offset: ?>, #hivm.address_space<ub>>) -> ()
    return
  }
}
