"""Programs of an array x, a number y and an int n that are refused, most of them, each for another reason.

A program is one line, with the lines below it that are indented: the body of a function.
"""

from __future__ import annotations

import linecache
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import mlirad

BODIES = r"""
return np.roots(x)
return np.sni(x)
return x.summ()
return x.argpartition(1)
return x[0].foo
return y.foo
return (x < 1j)
return x@y
return np.zeros(int(x[0]))
return np.eye(int(x[0]))
return x[x>0]
return x[x>0][0]
return print(x)
return open(x)
return [*map(np.roots,[x])]
return {1,2}
return {a_for_a:1}
return x.resize(2)
return x.sort(None)
return np.sort(x,kind='heapsort')
return np.sort(y)
return np.add.foo(x)
return np.add.reduceat(x,[0,1])
return np.sum(x,axes=0)
return np.sum(x,0,None,None,1,2,3,4,5)
return np.sum()
return x[1.5]
return x["a"]
return x[None,None,1,1]
return x[9]
return y[0]
return n[0]
return len(y)
return len(x[0])
return iter(x)
return next(iter(x))
return enumerate(x)[0]
return zip(x,x)[0]
return reversed(x).foo
return range(n).foo
return (lambda:x).foo
return (lambda:x)[0]
return str(x)
return f"{x}"
return "a".join([y])
return "%s"%y
return int(x)
return float(x)
return complex(y)
return hash(x)
return id(x)
return sorted(x)
return x+"a"
return x+None
return x+[1,"a"]
return x<"a"
return mlirad.grad(y)(y)
return np.einsum("ij->q",x)
return np.einsum("ij,jk",x)
return np.concatenate([x,y])
return np.concatenate(x)
return np.stack([x,x[:2]])
return x.reshape(2,2)
return x.reshape(-1,-1)
return np.transpose(x,(1,0))
return np.array([x,y])
return np.array([[1,2],[3]])
return x.astype(complex)
return x.astype("foo")
return np.longdouble(y)
return np.zeros(3,"c16")
return x@x@x@x
return np.linspace(x,y,3)
return np.arange(y)
return np.full(n,x)
return x.T.foo
return x.flat
return x.real.imag.foo
return np.where(x)
return np.clip(x)
return max(x,1,2)
return sum([x,"a"])
return min()
return dict(x)
return list(y)
return tuple(n)
return getattr(x,y)
return setattr(x,"a",1)
return isinstance(range,n)
return type("A",(),{})
return x[n:x]
return x[[0,1],"a"]
return np.take(x,9)
return x.dot("a")
return np.dot(x,np.ones(4))
return -"a"
return not_there
return math.foo
return math.gamma(y)
return math.comb(n,2)
return math.floor(x)
return np.ones(n)[n]
return globals()
return exec("x")
return abs("a")
return round(x)
return x.view(int)
return divmod(x,"a")
return pow(y,2,3)
return np.polyfit(x,x,1)
return np.fft.fft(x)
return np.unique(x,axis=0)
return np.nonzero(x)
return np.meshgrid(x,x)
return n<<y
return y&1
return x[n,n]
return (x,y)[x]
return [x,y][n]
return {"a":x}[n]
return {"a":x}["b"]
return {n:x}
return x.__class__.foo
return mlirad.checkpointed(x,2)
return bytes(n)
return x.tolist()
return x.tobytes()
return np.save("f",x)
return np.apply_along_axis(np.sort,0,x)
return np.frompyfunc(abs,1,1)(x)
return [*map(np.sort, [x])]
return f'{x} {y}'
return mlirad.grad(lambda z: z)(x)
return mlirad.jvp(lambda z: z, (y,), (x,))
return (lambda: x).foo
return x if y else n
return mlirad.vjp(lambda z: z * 2, y)[1]()
return mlirad.grad(lambda z: (z, z))(y)
return np.vectorize(lambda z: z)(x)
return mlirad.grad(lambda z: z, argnums=3)(y)
for q in y: pass
for a, b in x: pass
while x: pass
if x: pass
a, b = y
a, b = x, y, x
x[0] = 'a'
x['a'] = 1
x[9] = 1
y[0] = 1
x.foo = 1
y.foo = 1
del x[0]
import not_there_at_all
from math import not_there
class A: pass
async def g(): pass
raise KeyError(x, x)
raise y
assert x
with x: pass
try: pass
  except ValueError: pass
a: int
x += 'a'
x |= y
x @= y
for q in range(n): x = x[1:]
def g(): yield 1
  g()
(x[0] for q in x).foo
x[x > 0] = x[:1][x > 1]
z = x if y > 0 else y; z + 1
def g(*, k): pass
  g()
def g(): pass
  g(1)
g = lambda k: k; g(j=1)
match x:
      case 1: pass
x.fill('a')
while True: x = (x, x)
d = {}; d[x] = 1
np.add.at(x, [0], 'a')
np.add(x, x, out=y)
np.add(x, x, where=x)
np.sum(x, where=x > 0, initial=x)
np.copyto(x, y)
[] + x @ {}
"""


def programs() -> Iterator[tuple[str, Callable[..., Any]]]:
    """The source of each program, and the function."""
    bodies: list[str] = []
    for line in BODIES.strip().splitlines():
        if line.startswith(" "):
            bodies[-1] += f"\n    {line[2:]}"
        else:
            bodies.append(line)
    for number, body in enumerate(bodies):
        name, source = f"<refused program {number}>", f"def program(x, y, n):\n    {body}\n"
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
        space: dict[str, Any] = {"np": np, "math": math, "mlirad": mlirad}
        exec(compile(source, name, "exec"), space)
        yield source, space["program"]
