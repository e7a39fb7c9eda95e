// AssemblyScript. Built by test/support/build-kernel.ts into kernel-binary.ts; the TypeScript beside it says what each
// function must give. Addresses and lengths are in bytes, lengths multiples of four, vectors unaligned at worst.

/** target |= source */
export function or(target: usize, source: usize, length: usize): void {
  const end = target + length
  const wide = target + (length & ~63)
  while (target < wide) {
    v128.store(target, v128.or(v128.load(target), v128.load(source)))
    v128.store(target, v128.or(v128.load(target, 16), v128.load(source, 16)), 16)
    v128.store(target, v128.or(v128.load(target, 32), v128.load(source, 32)), 32)
    v128.store(target, v128.or(v128.load(target, 48), v128.load(source, 48)), 48)
    target += 64
    source += 64
  }
  while (target < end) {
    store<u32>(target, load<u32>(target) | load<u32>(source))
    target += 4
    source += 4
  }
}

/** target &= source */
export function and(target: usize, source: usize, length: usize): void {
  const end = target + length
  const wide = target + (length & ~63)
  while (target < wide) {
    v128.store(target, v128.and(v128.load(target), v128.load(source)))
    v128.store(target, v128.and(v128.load(target, 16), v128.load(source, 16)), 16)
    v128.store(target, v128.and(v128.load(target, 32), v128.load(source, 32)), 32)
    v128.store(target, v128.and(v128.load(target, 48), v128.load(source, 48)), 48)
    target += 64
    source += 64
  }
  while (target < end) {
    store<u32>(target, load<u32>(target) & load<u32>(source))
    target += 4
    source += 4
  }
}

/** By the processor's own instruction for 64 bits; vectors of 128, which have none, took up to twice as long. */
export function countSet(at: usize, length: usize): f64 {
  const end = at + length
  const wide = at + (length & ~15)
  let count: u64 = 0
  while (at < wide) {
    count += popcnt(load<u64>(at)) + popcnt(load<u64>(at, 8))
    at += 16
  }
  while (at < end) {
    count += popcnt(load<u32>(at))
    at += 4
  }
  return <f64>count
}
