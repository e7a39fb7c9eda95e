const MONTHS = 'janfebmaraprmayjunjulaugsepoctnovdec'
const IMF = /^(?:mon|tue|wed|thu|fri|sat|sun), (\d\d) ([a-z]{3}) (\d{4}) (\d\d):(\d\d):(\d\d) gmt$/i
const RFC850 =
  /^(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday), (\d\d)-([a-z]{3})-(\d\d) (\d\d):(\d\d):(\d\d) gmt$/i
const ASCTIME = /^(?:mon|tue|wed|thu|fri|sat|sun) ([a-z]{3}) (\d\d| \d) (\d\d):(\d\d):(\d\d) (\d{4})$/i
// 'Wednesday, 09-Nov-94 08:49:37 GMT' is the longest.
const LONGEST = 33
const DAY_MS = 86_400_000

/**
 * A date in one of the three forms of RFC 9110 §5.6.7, in milliseconds since 1970.
 *
 * Names are taken in any case; nothing else is forgiven (no other zone, no missing comma, no one-digit hour), since a
 * date read too well makes a stale response fresh. The day of the week must be one, but is not checked against the date.
 *
 * @param nowMs wall clock: gives a two-digit year its century
 * @returns undefined when it is no HTTP date
 */
export function parseHttpDate(text: string, nowMs: number): number | undefined {
  if (text.length > LONGEST) return undefined
  const imf = IMF.exec(text)
  if (imf) return utcMs(Number(imf[3]), imf[2]!, imf[1]!, imf[4]!, imf[5]!, imf[6]!)
  const asctime = ASCTIME.exec(text)
  if (asctime) return utcMs(Number(asctime[6]), asctime[1]!, asctime[2]!, asctime[3]!, asctime[4]!, asctime[5]!)
  const rfc850 = RFC850.exec(text)
  return rfc850 ? rfc850Ms(rfc850, nowMs) : undefined
}

/** As IMF-fixdate, the one form that may be sent (RFC 9110 §5.6.7). */
export function formatHttpDate(ms: number): string {
  return new Date(ms).toUTCString()
}

/** A date that appears to be more than 50 years ahead is of the most recent past year with these digits. */
function rfc850Ms(match: RegExpExecArray, nowMs: number): number | undefined {
  const [, day, month, digits, hour, minute, second] = match
  const nextCentury = Math.floor(new Date(nowMs).getUTCFullYear() / 100 + 1) * 100
  for (let year = nextCentury + Number(digits); year >= 0; year -= 100) {
    const fiftyYearsBefore = utcMs(year - 50, month!, '01', hour!, minute!, second!)
    if (fiftyYearsBefore === undefined) return undefined
    if (fiftyYearsBefore + (Number(day) - 1) * DAY_MS > nowMs) continue
    return utcMs(year, month!, day!, hour!, minute!, second!)
  }
  return undefined
}

function utcMs(year: number, monthName: string, day: string, hour: string, minute: string, second: string) {
  const month = MONTHS.indexOf(monthName.toLowerCase()) / 3
  if (!Number.isInteger(month) || month < 0) return undefined
  // 60 is a leap second (RFC 9110 §5.6.7).
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 60) return undefined
  // Not Date.UTC alone, which takes the years 0 to 99 as 19xx.
  const date = new Date(0)
  date.setUTCFullYear(year, month, Number(day))
  if (date.getUTCMonth() !== month || date.getUTCDate() !== Number(day)) return undefined
  return date.getTime() + (Number(hour) * 3600 + Number(minute) * 60 + Number(second)) * 1000
}
