const BYTES: Readonly<Record<string, number>> = {
  B: 1,
  kB: 1e3,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  TiB: 2 ** 40,
}

/**
 * `256MiB` (powers of 1024), `1GB` (powers of 1000) or a plain number, in bytes. Undefined: anything else, so that
 * `1G`, `1gb` or `1.5GB` is asked about and not guessed at.
 */
export function parseByteSize(text: string): number | undefined {
  const match = /^(\d{1,16})([A-Za-z]{1,3})?$/.exec(text)
  if (match === null) return undefined
  const unitBytes = BYTES[match[2] ?? 'B']
  if (unitBytes === undefined) return undefined
  const bytes = Number(match[1]) * unitBytes
  return Number.isSafeInteger(bytes) ? bytes : undefined
}

/** The same size with the largest unit that needs no fraction: `256MiB`. */
export function formatByteSize(bytes: number): string {
  const unit = ['TiB', 'GiB', 'MiB', 'KiB'].find((name) => bytes > 0 && Number.isInteger(bytes / BYTES[name]!))
  return unit === undefined ? `${bytes}B` : `${bytes / BYTES[unit]!}${unit}`
}
