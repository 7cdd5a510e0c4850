; every form of an access, in an order that accesses.test.cpp repeats
declare <16 x float> @llvm.masked.load.v16f32.p0(ptr, i32, <16 x i1>, <16 x float>)
declare void @llvm.masked.store.v16f32.p0(<16 x float>, ptr, i32, <16 x i1>)
declare <4 x float> @llvm.masked.gather.v4f32.v4p0(<4 x ptr>, i32, <4 x i1>, <4 x float>)
declare void @llvm.masked.scatter.v4f32.v4p0(<4 x float>, <4 x ptr>, i32, <4 x i1>)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

define void @accesses(ptr noalias %a, ptr noalias %b, i64 %three) {
entry:
  %aligned = load <16 x float>, ptr %a, align 64
  %p1 = getelementptr i8, ptr %a, i64 100
  %across = load <16 x float>, ptr %p1, align 4
  %p2 = getelementptr i8, ptr %a, i64 256
  %long = load <32 x float>, ptr %p2, align 64
  %p3 = getelementptr i8, ptr %a, i64 420
  %long.across = load <32 x float>, ptr %p3, align 4
  %p4 = getelementptr i8, ptr %a, i64 1024
  %odd = load <3 x float>, ptr %p4, align 4
  %huge = load [64 x i64], ptr %b, align 8
  store [64 x i64] %huge, ptr %b, align 8
  ; lanes 5 to 9 of a vector that begins 8 lanes before a line
  %p5 = getelementptr i8, ptr %a, i64 2080
  %v0 = insertelement <16 x i64> poison, i64 %three, i64 0
  %v1 = shufflevector <16 x i64> %v0, <16 x i64> poison, <16 x i32> zeroinitializer
  %lanes = add <16 x i64> %v1, <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7, i64 8, i64 9, i64 10, i64 11, i64 12, i64 13, i64 14, i64 15>
  %from = icmp sge <16 x i64> %lanes, <i64 8, i64 8, i64 8, i64 8, i64 8, i64 8, i64 8, i64 8, i64 8, i64 8, i64 8, i64 8, i64 8, i64 8, i64 8, i64 8>
  %to = icmp sle <16 x i64> %lanes, <i64 12, i64 12, i64 12, i64 12, i64 12, i64 12, i64 12, i64 12, i64 12, i64 12, i64 12, i64 12, i64 12, i64 12, i64 12, i64 12>
  %mask = and <16 x i1> %from, %to
  %some = call <16 x float> @llvm.masked.load.v16f32.p0(ptr %p5, i32 4, <16 x i1> %mask, <16 x float> poison)
  %none = icmp sgt <16 x i64> %lanes, <i64 99, i64 99, i64 99, i64 99, i64 99, i64 99, i64 99, i64 99, i64 99, i64 99, i64 99, i64 99, i64 99, i64 99, i64 99, i64 99>
  call void @llvm.masked.store.v16f32.p0(<16 x float> %some, ptr %p5, i32 4, <16 x i1> %none)
  %at = getelementptr float, ptr %b, <4 x i64> <i64 0, i64 1000, i64 2000, i64 3000>
  %g = call <4 x float> @llvm.masked.gather.v4f32.v4p0(<4 x ptr> %at, i32 4, <4 x i1> <i1 true, i1 true, i1 true, i1 true>, <4 x float> poison)
  %m4 = shufflevector <16 x i1> %mask, <16 x i1> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 10>
  call void @llvm.masked.scatter.v4f32.v4p0(<4 x float> %g, <4 x ptr> %at, i32 4, <4 x i1> %m4)
  %p6 = getelementptr i8, ptr %a, i64 4100
  %p7 = getelementptr i8, ptr %b, i64 8190
  call void @llvm.memcpy.p0.p0.i64(ptr %p7, ptr %p6, i64 200, i1 false)
  %n = mul i64 %three, 50
  call void @llvm.memset.p0.i64(ptr %p6, i8 0, i64 %n, i1 false)
  ret void
}
