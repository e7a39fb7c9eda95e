/** The ways to hash a key, by the number that stands for them in digests and filter files. */
export const MURMUR3 = 1
export const MD5 = 2
export const SIPHASH = 3

export const HASH_SCHEMES: Readonly<Record<number, string>> = {
  [MURMUR3]: 'MurmurHash3 x86_128',
  [MD5]: 'MD5, as in Summary Cache and Squid',
  [SIPHASH]: 'SipHash-2-4-128 with a secret key',
}

/** What is wrong with a hashing that came from outside; undefined when nothing is. */
export function hashingProblem(hashing: {
  readonly hashScheme: number
  readonly keyId: number
  readonly keyRules: number
}): string | undefined {
  const { hashScheme, keyId, keyRules } = hashing
  if (!(hashScheme in HASH_SCHEMES)) return `unknown hash scheme ${hashScheme}`
  if (keyRules !== 0 && keyRules !== 1) return `unknown cache-key rules ${keyRules}`
  if (hashScheme === SIPHASH && keyId === 0) return 'no key named for a keyed hash scheme'
  if (hashScheme !== SIPHASH && keyId !== 0) return `key ${keyId} for a hash scheme without keys`
  return undefined
}
