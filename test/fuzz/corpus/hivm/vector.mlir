"builtin.module"() ({
  "func.func"() <{function_type = (memref<?xf32, strided<[?], offset: ?>, #hivm.address_space<gm>>, memref<?xf32, strided<[?], offset: ?>, #hivm.address_space<ub>>, i32, f32, index) -> (), sym_name = "load_gm_to_ubuf_1d_float", sym_visibility = "private"}> ({
  }) {hacc.always_inline, hivm.func_core_type = #hivm.func_core_type<AIV>, llvm.emit_c_interface} : () -> ()
  "func.func"() <{function_type = (memref<?xf32, strided<[?], offset: ?>, #hivm.address_space<ub>>, f32, memref<?xf32, strided<[?], offset: ?>, #hivm.address_space<ub>>, memref<?xf32, strided<[?], offset: ?>, #hivm.address_space<ub>>) -> (), sym_name = "vmuls_vs_1d_float", sym_visibility = "private"}> ({
  }) {hacc.always_inline, hivm.func_core_type = #hivm.func_core_type<AIV>, llvm.emit_c_interface} : () -> ()
  "func.func"() <{function_type = (memref<?xf32, strided<[?], offset: ?>, #hivm.address_space<ub>>, memref<?xf32, strided<[?], offset: ?>, #hivm.address_space<ub>>, memref<?xf32, strided<[?], offset: ?>, #hivm.address_space<ub>>) -> (), sym_name = "vexp_1d_float", sym_visibility = "private"}> ({
  }) {hacc.always_inline, hivm.func_core_type = #hivm.func_core_type<AIV>, llvm.emit_c_interface} : () -> ()
  "func.func"() <{function_type = (memref<?xf32, strided<[?], offset: ?>, #hivm.address_space<ub>>, memref<?xf32, strided<[?], offset: ?>, #hivm.address_space<gm>>, i32) -> (), sym_name = "store_ubuf_to_gm_1d_float", sym_visibility = "private"}> ({
  }) {hacc.always_inline, hivm.func_core_type = #hivm.func_core_type<AIV>, llvm.emit_c_interface} : () -> ()
  "func.func"() <{arg_attrs = [{hacc.arg_type = #hacc.arg_type<ffts_base_address>}, {hacc.arg_type = #hacc.arg_type<sync_block_lock>}, {hacc.arg_type = #hacc.arg_type<workspace>}, {}, {}, {}, {}, {}], function_type = (i64, memref<?xi8, #hivm.address_space<gm>>, memref<?xi8, #hivm.address_space<gm>>, memref<?xf32, #hivm.address_space<gm>>, memref<?xf32, #hivm.address_space<gm>>, i32, i32, i32) -> (), sym_name = "unary"}> ({
  ^bb0(%arg0: i64, %arg1: memref<?xi8, #hivm.address_space<gm>>, %arg2: memref<?xi8, #hivm.address_space<gm>>, %arg3: memref<?xf32, #hivm.address_space<gm>>, %arg4: memref<?xf32, #hivm.address_space<gm>>, %arg5: i32, %arg6: i32, %arg7: i32):
    %0 = "arith.constant"() <{value = 0 : index}> : () -> index
    %1 = "arith.constant"() <{value = 0.000000e+00 : f32}> : () -> f32
    %2 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %3 = "arith.constant"() <{value = 2 : index}> : () -> index
    %4 = "arith.constant"() <{value = 0 : i64}> : () -> i64
    %5 = "arith.constant"() <{value = 1 : index}> : () -> index
    %6 = "arith.constant"() <{value = 0.693147182 : f32}> : () -> f32
    "hivm.hir.set_mask_norm"() : () -> ()
    %7 = "arith.muli"(%arg5, %arg6) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
    %8 = "arith.muli"(%7, %arg7) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
    "annotation.mark"(%8) {logical_block_num} : (i32) -> ()
    "hivm.hir.set_ffts_base_addr"(%arg0) : (i64) -> ()
    %9 = "hivm.hir.get_block_idx"() : () -> i64
    %10 = "arith.index_cast"(%9) : (i64) -> index
    %11 = "hivm.hir.pointer_cast"(%4) <{operandSegmentSizes = array<i32: 1, 0>}> : (i64) -> memref<2x24x40xf32, #hivm.address_space<ub>>
    "hivm.hir.set_flag"() <{set_pipe = #hivm.pipe<PIPE_MTE3>, static_event_id = #hivm.event<EVENT_ID0>, wait_pipe = #hivm.pipe<PIPE_MTE2>}> : () -> ()
    "hivm.hir.set_flag"() <{set_pipe = #hivm.pipe<PIPE_MTE3>, static_event_id = #hivm.event<EVENT_ID1>, wait_pipe = #hivm.pipe<PIPE_MTE2>}> : () -> ()
    %12 = "hivm.hir.get_block_num"() : () -> i64
    %13 = "arith.index_cast"(%12) : (i64) -> index
    %14 = "scf.for"(%10, %5, %13, %5) ({
    ^bb0(%arg8: index, %arg9: index):
      %15 = "arith.addi"(%arg9, %5) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
      %16 = "arith.remui"(%15, %3) : (index, index) -> index
      %17 = "arith.index_cast"(%16) : (index) -> i64
      "hivm.hir.wait_flag"(%17) <{set_pipe = #hivm.pipe<PIPE_MTE3>, wait_pipe = #hivm.pipe<PIPE_MTE2>}> : (i64) -> ()
      %18 = "memref.reinterpret_cast"(%arg3) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, static_offsets = array<i64: 0>, static_sizes = array<i64: 24, 40>, static_strides = array<i64: 40, 1>}> : (memref<?xf32, #hivm.address_space<gm>>) -> memref<24x40xf32, strided<[40, 1]>, #hivm.address_space<gm>>
      %19 = "memref.subview"(%11, %16) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>, static_offsets = array<i64: -9223372036854775808, 0, 0>, static_sizes = array<i64: 1, 24, 40>, static_strides = array<i64: 1, 1, 1>}> : (memref<2x24x40xf32, #hivm.address_space<ub>>, index) -> memref<24x40xf32, strided<[40, 1], offset: ?>, #hivm.address_space<ub>>
      %20 = "memref.collapse_shape"(%18) <{reassociation = [[0, 1]]}> : (memref<24x40xf32, strided<[40, 1]>, #hivm.address_space<gm>>) -> memref<960xf32, strided<[1]>, #hivm.address_space<gm>>
      %21 = "memref.collapse_shape"(%19) <{reassociation = [[0, 1]]}> : (memref<24x40xf32, strided<[40, 1], offset: ?>, #hivm.address_space<ub>>) -> memref<960xf32, strided<[1], offset: ?>, #hivm.address_space<ub>>
      %22 = "memref.cast"(%20) : (memref<960xf32, strided<[1]>, #hivm.address_space<gm>>) -> memref<?xf32, strided<[?], offset: ?>, #hivm.address_space<gm>>
      %23 = "memref.cast"(%21) : (memref<960xf32, strided<[1], offset: ?>, #hivm.address_space<ub>>) -> memref<?xf32, strided<[?], offset: ?>, #hivm.address_space<ub>>
      "func.call"(%22, %23, %2, %1, %0) <{callee = @load_gm_to_ubuf_1d_float}> : (memref<?xf32, strided<[?], offset: ?>, #hivm.address_space<gm>>, memref<?xf32, strided<[?], offset: ?>, #hivm.address_space<ub>>, i32, f32, index) -> ()
      %24 = "arith.index_cast"(%16) : (index) -> i64
      "hivm.hir.set_flag"(%24) <{set_pipe = #hivm.pipe<PIPE_MTE2>, wait_pipe = #hivm.pipe<PIPE_V>}> : (i64) -> ()
      %25 = "arith.index_cast"(%16) : (index) -> i64
      "hivm.hir.wait_flag"(%25) <{set_pipe = #hivm.pipe<PIPE_MTE2>, wait_pipe = #hivm.pipe<PIPE_V>}> : (i64) -> ()
      %26 = "memref.subview"(%11, %16) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>, static_offsets = array<i64: -9223372036854775808, 0, 0>, static_sizes = array<i64: 1, 24, 40>, static_strides = array<i64: 1, 1, 1>}> : (memref<2x24x40xf32, #hivm.address_space<ub>>, index) -> memref<24x40xf32, strided<[40, 1], offset: ?>, #hivm.address_space<ub>>
      %27 = "memref.subview"(%11, %16) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>, static_offsets = array<i64: -9223372036854775808, 0, 0>, static_sizes = array<i64: 1, 24, 40>, static_strides = array<i64: 1, 1, 1>}> : (memref<2x24x40xf32, #hivm.address_space<ub>>, index) -> memref<24x40xf32, strided<[40, 1], offset: ?>, #hivm.address_space<ub>>
      %28 = "memref.collapse_shape"(%27) <{reassociation = [[0, 1]]}> : (memref<24x40xf32, strided<[40, 1], offset: ?>, #hivm.address_space<ub>>) -> memref<960xf32, strided<[1], offset: ?>, #hivm.address_space<ub>>
      %29 = "memref.collapse_shape"(%26) <{reassociation = [[0, 1]]}> : (memref<24x40xf32, strided<[40, 1], offset: ?>, #hivm.address_space<ub>>) -> memref<960xf32, strided<[1], offset: ?>, #hivm.address_space<ub>>
      %30 = "hivm.hir.pointer_cast"(%4) <{operandSegmentSizes = array<i32: 1, 0>}> : (i64) -> memref<0xf32, #hivm.address_space<ub>>
      %31 = "memref.cast"(%28) : (memref<960xf32, strided<[1], offset: ?>, #hivm.address_space<ub>>) -> memref<?xf32, strided<[?], offset: ?>, #hivm.address_space<ub>>
      %32 = "memref.cast"(%29) : (memref<960xf32, strided<[1], offset: ?>, #hivm.address_space<ub>>) -> memref<?xf32, strided<[?], offset: ?>, #hivm.address_space<ub>>
      %33 = "memref.cast"(%30) : (memref<0xf32, #hivm.address_space<ub>>) -> memref<?xf32, strided<[?], offset: ?>, #hivm.address_space<ub>>
      "func.call"(%31, %6, %32, %33) <{callee = @vmuls_vs_1d_float}> : (memref<?xf32, strided<[?], offset: ?>, #hivm.address_space<ub>>, f32, memref<?xf32, strided<[?], offset: ?>, #hivm.address_space<ub>>, memref<?xf32, strided<[?], offset: ?>, #hivm.address_space<ub>>) -> ()
      "hivm.hir.pipe_barrier"() <{pipe = #hivm.pipe<PIPE_V>}> : () -> ()
      %34 = "memref.subview"(%11, %16) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>, static_offsets = array<i64: -9223372036854775808, 0, 0>, static_sizes = array<i64: 1, 24, 40>, static_strides = array<i64: 1, 1, 1>}> : (memref<2x24x40xf32, #hivm.address_space<ub>>, index) -> memref<24x40xf32, strided<[40, 1], offset: ?>, #hivm.address_space<ub>>
      %35 = "memref.subview"(%11, %16) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>, static_offsets = array<i64: -9223372036854775808, 0, 0>, static_sizes = array<i64: 1, 24, 40>, static_strides = array<i64: 1, 1, 1>}> : (memref<2x24x40xf32, #hivm.address_space<ub>>, index) -> memref<24x40xf32, strided<[40, 1], offset: ?>, #hivm.address_space<ub>>
      %36 = "memref.collapse_shape"(%35) <{reassociation = [[0, 1]]}> : (memref<24x40xf32, strided<[40, 1], offset: ?>, #hivm.address_space<ub>>) -> memref<960xf32, strided<[1], offset: ?>, #hivm.address_space<ub>>
      %37 = "memref.collapse_shape"(%34) <{reassociation = [[0, 1]]}> : (memref<24x40xf32, strided<[40, 1], offset: ?>, #hivm.address_space<ub>>) -> memref<960xf32, strided<[1], offset: ?>, #hivm.address_space<ub>>
      %38 = "hivm.hir.pointer_cast"(%4) <{operandSegmentSizes = array<i32: 1, 0>}> : (i64) -> memref<0xf32, #hivm.address_space<ub>>
      %39 = "memref.cast"(%36) : (memref<960xf32, strided<[1], offset: ?>, #hivm.address_space<ub>>) -> memref<?xf32, strided<[?], offset: ?>, #hivm.address_space<ub>>
      %40 = "memref.cast"(%37) : (memref<960xf32, strided<[1], offset: ?>, #hivm.address_space<ub>>) -> memref<?xf32, strided<[?], offset: ?>, #hivm.address_space<ub>>
      %41 = "memref.cast"(%38) : (memref<0xf32, #hivm.address_space<ub>>) -> memref<?xf32, strided<[?], offset: ?>, #hivm.address_space<ub>>
      "func.call"(%39, %40, %41) <{callee = @vexp_1d_float}> : (memref<?xf32, strided<[?], offset: ?>, #hivm.address_space<ub>>, memref<?xf32, strided<[?], offset: ?>, #hivm.address_space<ub>>, memref<?xf32, strided<[?], offset: ?>, #hivm.address_space<ub>>) -> ()
      %42 = "arith.index_cast"(%16) : (index) -> i64
      "hivm.hir.set_flag"(%42) <{set_pipe = #hivm.pipe<PIPE_V>, wait_pipe = #hivm.pipe<PIPE_MTE3>}> : (i64) -> ()
      %43 = "arith.index_cast"(%16) : (index) -> i64
      "hivm.hir.wait_flag"(%43) <{set_pipe = #hivm.pipe<PIPE_V>, wait_pipe = #hivm.pipe<PIPE_MTE3>}> : (i64) -> ()
      %44 = "memref.subview"(%11, %16) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>, static_offsets = array<i64: -9223372036854775808, 0, 0>, static_sizes = array<i64: 1, 24, 40>, static_strides = array<i64: 1, 1, 1>}> : (memref<2x24x40xf32, #hivm.address_space<ub>>, index) -> memref<24x40xf32, strided<[40, 1], offset: ?>, #hivm.address_space<ub>>
      %45 = "memref.reinterpret_cast"(%arg4) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, static_offsets = array<i64: 0>, static_sizes = array<i64: 24, 40>, static_strides = array<i64: 40, 1>}> : (memref<?xf32, #hivm.address_space<gm>>) -> memref<24x40xf32, strided<[40, 1]>, #hivm.address_space<gm>>
      %46 = "memref.collapse_shape"(%44) <{reassociation = [[0, 1]]}> : (memref<24x40xf32, strided<[40, 1], offset: ?>, #hivm.address_space<ub>>) -> memref<960xf32, strided<[1], offset: ?>, #hivm.address_space<ub>>
      %47 = "memref.collapse_shape"(%45) <{reassociation = [[0, 1]]}> : (memref<24x40xf32, strided<[40, 1]>, #hivm.address_space<gm>>) -> memref<960xf32, strided<[1]>, #hivm.address_space<gm>>
      %48 = "memref.cast"(%46) : (memref<960xf32, strided<[1], offset: ?>, #hivm.address_space<ub>>) -> memref<?xf32, strided<[?], offset: ?>, #hivm.address_space<ub>>
      %49 = "memref.cast"(%47) : (memref<960xf32, strided<[1]>, #hivm.address_space<gm>>) -> memref<?xf32, strided<[?], offset: ?>, #hivm.address_space<gm>>
      "func.call"(%48, %49, %2) <{callee = @store_ubuf_to_gm_1d_float}> : (memref<?xf32, strided<[?], offset: ?>, #hivm.address_space<ub>>, memref<?xf32, strided<[?], offset: ?>, #hivm.address_space<gm>>, i32) -> ()
      %50 = "arith.index_cast"(%16) : (index) -> i64
      "hivm.hir.set_flag"(%50) <{set_pipe = #hivm.pipe<PIPE_MTE3>, wait_pipe = #hivm.pipe<PIPE_MTE2>}> : (i64) -> ()
      "scf.yield"(%16) : (index) -> ()
    }) : (index, index, index, index) -> index
    "hivm.hir.wait_flag"() <{set_pipe = #hivm.pipe<PIPE_MTE3>, static_event_id = #hivm.event<EVENT_ID0>, wait_pipe = #hivm.pipe<PIPE_MTE2>}> : () -> ()
    "hivm.hir.wait_flag"() <{set_pipe = #hivm.pipe<PIPE_MTE3>, static_event_id = #hivm.event<EVENT_ID1>, wait_pipe = #hivm.pipe<PIPE_MTE2>}> : () -> ()
    "hivm.hir.pipe_barrier"() <{pipe = #hivm.pipe<PIPE_ALL>}> : () -> ()
    "func.return"() : () -> ()
  }) {SyncBlockLockArgIdx = 0 : i64, WorkspaceArgIdx = 1 : i64, func_dyn_memref_args = dense<[false, true, true, true, true, false, false, false]> : vector<8xi1>, hacc.entry, hacc.function_kind = #hacc.function_kind<DEVICE>, hivm.func_core_type = #hivm.func_core_type<AIV>, mix_mode = "aiv", tilewright.free_ub = array<i64: 7680, 196608>} : () -> ()
}) {dlti.target_system_spec = #dlti.target_system_spec<"NPU" : #hacc.target_device_spec<#dlti.dl_entry<"AI_CORE_COUNT", 20 : i32>, #dlti.dl_entry<"CUBE_CORE_COUNT", 20 : i32>, #dlti.dl_entry<"VECTOR_CORE_COUNT", 40 : i32>, #dlti.dl_entry<"UB_SIZE", 1572864 : i32>, #dlti.dl_entry<"L1_SIZE", 4194304 : i32>, #dlti.dl_entry<"L0A_SIZE", 524288 : i32>, #dlti.dl_entry<"L0B_SIZE", 524288 : i32>, #dlti.dl_entry<"L0C_SIZE", 1048576 : i32>, #dlti.dl_entry<"UB_ALIGN_SIZE", 256 : i32>, #dlti.dl_entry<"L1_ALIGN_SIZE", 256 : i32>, #dlti.dl_entry<"L0C_ALIGN_SIZE", 4096 : i32>>>, hacc.hivmc_compatible_print = false, hacc.hivmc_version = #hacc.hivmc_version<"0.0.0">, hivm.module_core_type = #hivm.module_core_type<AIV>, memref.memref_as_ptr} : () -> ()

