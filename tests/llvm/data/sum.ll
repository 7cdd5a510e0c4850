; the sum of n numbers: one access and one addition a round
define float @sum(ptr noalias %x, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %s = phi float [ 0.0, %entry ], [ %sum, %loop ]
  %at = getelementptr inbounds float, ptr %x, i64 %i
  %v = load float, ptr %at, align 4
  %sum = fadd float %s, %v
  %next = add nuw nsw i64 %i, 1
  %done = icmp eq i64 %next, %n
  br i1 %done, label %exit, label %loop
exit:
  ret float %sum
}
