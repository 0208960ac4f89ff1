// RUN: mlirad-opt %s -p mlirad-nd-to-linalg,mlirad-bufferize --reduce | filecheck %s
// RUN: mlirad-opt %s --reduce-while 'grep -q scf.for' | filecheck %s --check-prefix=LOOP

// What is left of a module on which a pass fails is what the pass cannot take: here tensor.concat, in no loop and no
// branch, of the function's own arguments.
// CHECK: builtin.module {
// CHECK-NEXT: func.func public @joined(%x: tensor<4xf64>) -> tensor<8xf64> {
// CHECK-NEXT: %r = tensor.concat dim(0) %x, %x
// CHECK-NEXT: func.return %r : tensor<8xf64>
// CHECK-NEXT: }
// CHECK-NEXT: }

// A command may say which module is looked for: here those with a loop.
// LOOP-NOT: func.func @helper
// LOOP: func.func public @joined
// LOOP-NOT: nd.
// LOOP: scf.for
// LOOP-NEXT: }
// LOOP-NEXT: func.return

func.func @helper(%x: tensor<4xf64>) -> tensor<4xf64> {
  %r = nd.sin %x : tensor<4xf64>
  return %r : tensor<4xf64>
}
func.func public @joined(%x: tensor<4xf64>, %n: i64, %c: i1) -> (tensor<8xf64>, tensor<4xf64>) {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %y = nd.cos %x : tensor<4xf64>
  %h = func.call @helper(%y) : (tensor<4xf64>) -> tensor<4xf64>
  %z = tensor.empty() : tensor<8xf64>
  %l, %k = scf.for %i = %c0 to %n step %c1 iter_args(%a = %z, %b = %h) -> (tensor<8xf64>, tensor<4xf64>) : i64 {
    %e = nd.exp %b : tensor<4xf64>
    %v = scf.if %c -> (tensor<8xf64>) {
      %r = tensor.concat dim(0) %e, %x : (tensor<4xf64>, tensor<4xf64>) -> tensor<8xf64>
      scf.yield %r : tensor<8xf64>
    } else {
      scf.yield %a : tensor<8xf64>
    }
    scf.yield %v, %e : tensor<8xf64>, tensor<4xf64>
  }
  return %l, %k : tensor<8xf64>, tensor<4xf64>
}
