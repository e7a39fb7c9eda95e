// Numbers for people.

const INTEGER = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })
const SHORT = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })
const PERCENT = new Intl.NumberFormat('en', { style: 'percent', minimumFractionDigits: 1, maximumFractionDigits: 1 })
const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB']

export function count(number) {
  return number < 1_000_000 ? INTEGER.format(number) : SHORT.format(number)
}

export function percent(share) {
  return PERCENT.format(share)
}

/** Error rates are small: three digits that matter, never a misleading 0.0 %. */
export function errorRate(share) {
  if (share === null) return 'none yet'
  if (share === 0) return '0 %'
  const inPercent = share * 100
  return inPercent < 0.001 ? `${inPercent.toExponential(1)} %` : `${Number(inPercent.toPrecision(2))} %`
}

export function bytes(number) {
  let value = number
  let unit = 0
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024
    unit++
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${UNITS[unit]}`
}

export function duration(ms) {
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 10_000) return `${(ms / 1000).toFixed(1)} s`
  if (ms < 120_000) return `${Math.round(ms / 1000)} s`
  if (ms < 7_200_000) return `${Math.round(ms / 60_000)} min`
  if (ms < 172_800_000) return `${Math.round(ms / 3_600_000)} h`
  return `${Math.round(ms / 86_400_000)} d`
}

/** How many times more `theirs` is than `ours`. */
export function factor(ours, theirs) {
  if (ours === 0 || theirs === 0) return '–'
  const times = theirs / ours
  return `${times >= 100 ? Math.round(times) : Number(times.toPrecision(2))}×`
}

export function fewerOrMore(ours, theirs) {
  if (ours === 0 || theirs === 0) return '–'
  return theirs >= ours ? `${factor(ours, theirs)} fewer` : `${factor(theirs, ours)} more`
}

export function perSecond(rate) {
  return `${rate >= 10 || rate === 0 ? INTEGER.format(rate) : rate.toFixed(1)}/s`
}

export function clockTime(wallMs) {
  return new Date(wallMs).toLocaleTimeString('en-GB', { hour12: false })
}
