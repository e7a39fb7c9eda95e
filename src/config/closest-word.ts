/**
 * The word that was probably meant, for "did you mean": at most a third of its letters inserted, dropped, replaced or
 * swapped with a neighbour (Damerau-Levenshtein, restricted), without regard to case. Undefined: none is that near.
 */
export function closestWord(typed: string, words: readonly string[]): string | undefined {
  // Nobody mistypes this much, and the distance costs the product of both lengths.
  if (typed.length > 64) return undefined
  let best: string | undefined
  let bestDistance = Infinity
  for (const word of words) {
    const distance = editDistance(typed.toLowerCase(), word.toLowerCase())
    if (distance < bestDistance && distance <= Math.max(1, Math.floor(word.length / 3))) {
      best = word
      bestDistance = distance
    }
  }
  return best
}

function editDistance(a: string, b: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1]
      let least = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + (same ? 0 : 1))
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      if (swapped) least = Math.min(least, beforeLast[j - 2]! + 1)
      row.push(least)
    }
    beforeLast = last
    last = row
  }
  return last[b.length]!
}
