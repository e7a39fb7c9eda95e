const MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** `250ms`, `5s`, `3m`, `1h`, `2d`, in milliseconds. Undefined: anything else, a number without a unit as well. */
export function parseDuration(text: string): number | undefined {
  const match = /^(\d{1,9})(ms|s|m|h|d)$/.exec(text)
  return match === null ? undefined : Number(match[1]) * MS[match[2]!]!
}

/** The same time with the largest unit that needs no fraction: `24h` is `1d`. */
export function formatDuration(ms: number): string {
  const unit = ['d', 'h', 'm', 's'].find((name) => ms > 0 && Number.isInteger(ms / MS[name]!)) ?? 'ms'
  return `${ms / MS[unit]!}${unit}`
}
