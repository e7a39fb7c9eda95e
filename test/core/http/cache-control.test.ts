import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { requestDirectives, responseDirectives } from '../../../src/core/http/cache-control.ts'
import { Fields } from '../../../src/core/http/fields.ts'

const parsed = (...lines: string[]) => responseDirectives(new Fields(lines.flatMap((line) => ['Cache-Control', line])))
const asked = (...lines: string[]) => requestDirectives(lines, [])

describe('values', () => {
  test.each([
    ['max-age=3600', 3_600_000],
    ['MAX-Age=3600', 3_600_000],
    ['max-age=003600', 3_600_000],
    ['max-age="3600"', 3_600_000],
    ['max-age=2147483647', 2_147_483_647_000],
    ['max-age=2147483648', 2_147_483_648_000],
    ['max-age=2147483649', 2_147_483_648_000],
    ['max-age=99999999999', 2_147_483_648_000],
    [`max-age=${'9'.repeat(400)}`, 2_147_483_648_000],
    ['foobar=3600, max-age=1', 1000],
    ['extension="max-age=3600", max-age=1', 1000],
    ['max-age=1, extension="max-age=3600"', 1000],
    ['extension="a\\", max-age=3600", max-age=1', 1000],
    ['max-age=1800, max-age=1', 1_800_000],
    ['max-age=1, max-age=1800', 1000],
    [',, max-age=5 ,\t,', 5000],
  ])('%s gives %d ms', (line, ms) => {
    expect(parsed(line)).toMatchObject({ maxAgeMs: ms, malformed: false })
  })

  test.each([
    "max-age='3600'",
    'max-age=-3600',
    'max-age=3600.0',
    'max-age=a3600',
    'max-age=3600a',
    'max-age=',
    'max-age',
  ])('a lifetime that is no number is over: %s', (line) => {
    expect(parsed(line).maxAgeMs).toBe(0)
  })

  test('the first of repeated directives counts, also when it is invalid and on another line', () => {
    expect(parsed('max-age=x', 'max-age=60').maxAgeMs).toBe(0)
    expect(parsed('max-age=60', 's-maxage=1')).toMatchObject({ maxAgeMs: 60_000, sMaxAgeMs: 1000 })
  })
})

describe('[qualified-and-odd-directives]', () => {
  test.each([
    ['PRIVATE, max-age=600', 'private'],
    ['max-age=600, No-Store', 'noStore'],
    ['public, max-age=600, private=""', 'private'],
    ['max-age=600, private="x-a, x-b"', 'private'],
    ['max-age="600", foo="no, private", no-cache', 'noCache'],
    ['public, max-age=600, no-cache="Set-Cookie"', 'noCache'],
    ['no-store;max-age=600', 'noStore'],
    ['max-age=600 private', 'private'],
    ['foo"bar, no-store', 'noStore'],
  ] as const)('%s is recognised', (line, name) => {
    expect(parsed(line)[name]).toBe(true)
  })

  test('a directive on a second line counts', () => {
    expect(parsed('max-age=600', 'no-store').noStore).toBe(true)
  })

  test('a name within a quoted string is none', () => {
    expect(parsed('foo="no, private"').private).toBe(false)
  })

  test.each([
    'max-age=600, foo="bar',
    'max-age =3600',
    'max-age= 3600',
    'public; max-age=600',
    'foo="a"b, max-age=5',
    '="x"',
    'a"b"',
    'max-age=600 private',
  ])('where a directive ends is in doubt in %s', (line) => {
    expect(parsed(line).malformed).toBe(true)
  })
})

describe('requests', () => {
  test('what is absent asks for nothing', () => {
    expect(asked()).toEqual({
      noStore: false,
      noCache: false,
      onlyIfCached: false,
      maxAgeMs: Infinity,
      minFreshMs: -Infinity,
      maxStaleMs: -1,
    })
  })

  test('[min-fresh-mixed-up] min-fresh and max-stale are two things', () => {
    expect(asked('min-fresh=30, max-stale=600')).toMatchObject({ minFreshMs: 30_000, maxStaleMs: 600_000 })
  })

  test('max-stale without an argument takes any staleness, with a bad one none', () => {
    expect(asked('max-stale').maxStaleMs).toBe(Infinity)
    expect(asked('max-stale=x').maxStaleMs).toBe(0)
  })

  test('a malformed line asks for validation and still says only-if-cached', () => {
    expect(asked('x="; only-if-cached').noCache).toBe(true)
    expect(asked('max-age=5; only-if-cached')).toMatchObject({ noCache: true, onlyIfCached: true })
  })
})

test('[qualified-and-odd-directives] any bytes are parsed without an exception', () => {
  const bytes = fc.string({ unit: fc.constantFrom(...'abmax-e=0123",;\\ \t\u00ff\0'.split('')), maxLength: 60 })
  fc.assert(
    fc.property(fc.array(bytes, { maxLength: 4 }), (lines) => {
      expect(parsed(...lines).maxAgeMs).toBeGreaterThanOrEqual(-1)
      expect(asked(...lines).maxStaleMs).toBeGreaterThanOrEqual(-1)
    }),
  )
})

test('well-formed directives are found as a dull parser finds them', () => {
  const token = fc.constantFrom('max-age', 'no-store', 'private', 'foo', 'No-Cache', 's-maxage')
  const argument = fc.option(fc.constantFrom('0', '7', '"7"', '"a, b"', 'x', '"\\"no-store"'))
  fc.assert(
    fc.property(fc.array(fc.tuple(token, argument), { maxLength: 6 }), (directives) => {
      const line = directives.map(([name, text]) => (text === null ? name : `${name}=${text}`)).join(' , ')
      const first = (wanted: string) => directives.find(([name]) => name === wanted)
      const ms = (wanted: string) => {
        const found = first(wanted)
        if (!found) return -1
        return found[1] === '7' || found[1] === '"7"' ? 7000 : 0
      }
      expect(parsed(line)).toMatchObject({
        malformed: false,
        noStore: first('no-store') !== undefined,
        noCache: first('No-Cache') !== undefined,
        private: first('private') !== undefined,
        maxAgeMs: ms('max-age'),
        sMaxAgeMs: ms('s-maxage'),
      })
    }),
  )
})

// Were a byte looked at once for each byte before it, this would take an hour and not milliseconds.
test.each(['"', '\\', '"\\', '=', ' ', ',', 'a ', 'a=" ', ';', 'a;'])(
  'a million of %j are parsed in one pass',
  (unit) => {
    expect(asked(unit.repeat(1_000_000)).noStore).toBe(false)
  },
)
