; what a load reads: its own place, another, somebody else's, the round before
define void @within(ptr noalias %a, ptr noalias %b, i64 %i) {
entry:
  store float 1.0, ptr %a, align 4                        ; 0
  %0 = load float, ptr %b, align 4                        ; 1 reads nobody's
  %1 = load float, ptr %a, align 4                        ; 2 reads 0
  %2 = getelementptr inbounds float, ptr %a, i64 1        ; 3
  %3 = load float, ptr %2, align 4                        ; 4 reads nobody's: beside
  %4 = getelementptr inbounds float, ptr %a, i64 %i       ; 5
  %5 = load float, ptr %4, align 4                        ; 6 may read 0, or not
  %6 = fadd float %0, %1                                  ; 7
  %7 = fadd float %3, %5                                  ; 8
  %8 = fadd float %6, %7                                  ; 9
  store float %8, ptr %a, align 4                         ; 10
  %9 = load <4 x float>, ptr %a, align 4                  ; 11 reads 10, and 0 elsewhere: in part
  store <4 x float> %9, ptr %b, align 4                   ; 12
  br label %loop                                          ; 13
loop:                                                     ; the sum lies in memory: each round waits for the store of the last
  %n = phi i64 [ 0, %entry ], [ %n.next, %loop ]          ; 0
  %old = load float, ptr %a, align 4                      ; 1
  %at = getelementptr inbounds float, ptr %b, i64 %n      ; 2
  %x = load float, ptr %at, align 4                       ; 3
  %new = fadd float %old, %x                              ; 4
  store float %new, ptr %a, align 4                       ; 5
  %n.next = add nuw nsw i64 %n, 1                         ; 6
  %end = icmp eq i64 %n.next, 10                          ; 7
  br i1 %end, label %recurrence, label %loop              ; 8
recurrence:                                               ; x[m + 1] = x[m] * 2: what a round stores the next one loads
  %m = phi i64 [ 0, %loop ], [ %m.next, %recurrence ]     ; 0
  %from = getelementptr inbounds float, ptr %b, i64 %m    ; 1
  %y = load float, ptr %from, align 4                     ; 2
  %z = fadd float %y, %y                                  ; 3
  %m.next = add nuw nsw i64 %m, 1                         ; 4
  %to = getelementptr inbounds float, ptr %b, i64 %m.next ; 5
  store float %z, ptr %to, align 4                        ; 6
  %end2 = icmp eq i64 %m.next, 10                         ; 7
  br i1 %end2, label %each, label %recurrence             ; 8
each:                                                     ; every round has a place of its own
  %k = phi i64 [ 0, %recurrence ], [ %k.next, %each ]     ; 0
  %here = getelementptr inbounds float, ptr %b, i64 %k    ; 1
  %u = load float, ptr %here, align 4                     ; 2
  %v = fadd float %u, %u                                  ; 3
  store float %v, ptr %here, align 4                      ; 4
  %k.next = add nuw nsw i64 %k, 1                         ; 5
  %end3 = icmp eq i64 %k.next, 10                         ; 6
  br i1 %end3, label %exit, label %each                   ; 7
exit:
  ret void
}
