; every fold, and what looks like one
declare <8 x float> @llvm.fmuladd.v8f32(<8 x float>, <8 x float>, <8 x float>)
declare float @llvm.exp.f32(float)
declare float @tanhf(float)
declare void @llvm.assume(i1)

define void @folds(ptr noalias align 64 %a, ptr noalias align 64 %b, ptr noalias align 64 %c, i64 %i, i32 %k) {
splats:
  %0 = load float, ptr %a, align 4                                                          ;  0 load, broadcast
  %1 = insertelement <8 x float> poison, float %0, i64 0                                    ;  1 splat
  %2 = shufflevector <8 x float> %1, <8 x float> poison, <8 x i32> zeroinitializer          ;  2 splat
  %3 = load <8 x float>, ptr %b, align 32                                                   ;  3 operand of 4
  %4 = call <8 x float> @llvm.fmuladd.v8f32(<8 x float> %2, <8 x float> %3, <8 x float> %2) ;  4 fma
  %5 = fmul <8 x float> %4, %2                                                              ;  5 multiply_add with 6
  %6 = fadd <8 x float> %5, %4                                                              ;  6
  %7 = fmul <8 x float> %6, %6                                                              ;  7 used twice: stays
  %8 = fadd <8 x float> %7, %7                                                              ;  8
  store <8 x float> %8, ptr %c, align 32                                                    ;  9
  %9 = insertelement <8 x float> poison, float 1.0, i64 0                                   ; 10 nothing: the first lane
  %10 = shufflevector <8 x float> %9, <8 x float> poison, <8 x i32> zeroinitializer         ; 11 a shuffle: not just loaded
  %11 = getelementptr inbounds i8, ptr %c, i64 64                                           ; 12 address
  store <8 x float> %10, ptr %11, align 32                                                  ; 13
  br label %addresses                                                                       ; 14 falls through
addresses:
  %12 = add nsw i64 %i, 8                                                                   ;  0 displacement
  %13 = getelementptr inbounds float, ptr %a, i64 %12                                       ;  1 address
  %14 = load float, ptr %13, align 4                                                        ;  2 used by two
  %15 = shl i64 %i, 2                                                                       ;  3 ialu
  %16 = or i64 %15, 1                                                                       ;  4 displacement: bit 0 is free
  %17 = getelementptr inbounds float, ptr %a, i64 %16                                       ;  5 address
  %18 = load float, ptr %17, align 4                                                        ;  6 operand of 8
  %19 = or i64 %i, 1                                                                        ;  7 ialu: who knows bit 0
  %20 = fadd float %14, %18                                                                 ;  8
  %21 = getelementptr inbounds float, ptr %a, i64 %19                                       ;  9 address
  %22 = load float, ptr %21, align 4                                                        ; 10 operand of 11
  %23 = fadd float %22, %14                                                                 ; 11
  %24 = getelementptr inbounds <8 x float>, ptr %b, i64 %i                                  ; 12 ialu: scaled by 32
  store float %20, ptr %24, align 4                                                         ; 13
  %25 = getelementptr inbounds float, ptr %c, i64 %i                                        ; 14 ialu: its value is stored, too
  store ptr %25, ptr %b, align 8                                                            ; 15
  store float %23, ptr %25, align 4                                                         ; 16
  %26 = zext i32 %k to i64                                                                  ; 17 extend
  %27 = trunc i64 %26 to i8                                                                 ; 18 nothing
  %28 = sext i8 %27 to i64                                                                  ; 19 convert
  %29 = icmp slt i64 %28, 5                                                                 ; 20 with its branch
  br i1 %29, label %functions, label %exit                                                  ; 21
functions:
  %30 = load float, ptr %a, align 4                                                         ;  0
  %31 = call float @llvm.exp.f32(float %30)                                                 ;  1 exp
  %32 = call float @tanhf(float %31)                                                        ;  2 tanh
  %33 = fcmp ogt float %32, 0.0                                                             ;  3 part of 4
  %34 = select i1 %33, float %32, float 0.0                                                 ;  4 fminmax
  %35 = fcmp ogt float %34, 1.0                                                             ;  5 compare
  %36 = select i1 %35, float 3.0, float %34                                                 ;  6 select
  %37 = sdiv i32 %k, 8                                                                      ;  7 ialu
  %38 = sdiv i32 %37, 7                                                                     ;  8 imul
  call void @llvm.assume(i1 true)
  %39 = add i32 %k, 3                                                                       ;  9
  %40 = srem i32 %38, %39                                                                   ; 10 idiv
  %41 = bitcast float %36 to i32                                                            ; 11 move
  %42 = add i32 %41, %40                                                                    ; 12
  store i32 %42, ptr %c, align 4                                                            ; 13
  %43 = freeze i32 %42                                                                      ; 14 nothing
  br label %exit                                                                            ; 15
exit:
  ret void
}
