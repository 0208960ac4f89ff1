// RUN: not mlirad-opt %s -t 'mlirad{target=cpu after=loops stage=llvmir}' 2>&1 | filecheck %s

// What has no rule is refused, all of it at once, each at its place in the user's source.
// CHECK: user.py:4:2: the cpu target cannot emit memref.rank
// CHECK: user.py:5:2: the cpu target cannot emit test.op
func.func public @refused(%x: memref<4xf64>) -> index {
  %r = "memref.rank"(%x) : (memref<4xf64>) -> index loc("user.py":4:2)
  "test.op"() : () -> () loc("user.py":5:2)
  func.return %r : index
}
