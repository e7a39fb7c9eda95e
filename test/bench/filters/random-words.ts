/**
 * Fills `words` with bits that are set at random with a density of `numerator` / 2^`digits`, the same for the same
 * seed. Each binary digit of the density, the last first, joins a random word: 1 by OR, 0 by AND.
 */
export function fillAtRandom(words: Uint32Array, numerator: number, digits: number, seed: number): void {
  let state = seed
  for (let i = 0; i < words.length; i++) {
    let word = 0
    for (let digit = 0; digit < digits; digit++) {
      // mulberry32
      state = (state + 0x6d2b79f5) | 0
      let t = Math.imul(state ^ (state >>> 15), 1 | state)
      t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
      t ^= t >>> 14
      word = ((numerator >>> digit) & 1) === 1 ? word | t : word & t
    }
    words[i] = word
  }
}
