import { CommanderError } from 'commander'
import { describe, expect, test } from 'vitest'
import { FILTER_KINDS } from '../../src/core/filter/filter-kinds.ts'
import { KeyHasher } from '../../src/core/filter/key-hasher.ts'
import { sizeReport, sizeText, type SizeDemand } from '../../src/filter-size.ts'
import { traceText } from '../../src/filter-trace.ts'
import { filterCommand } from '../../src/filter.ts'
import { run } from './run.ts'

const textOf = async (...words: string[]): Promise<string> => {
  const { code, out, err } = await run('filter', ...words)
  expect([code, err]).toEqual([0, ''])
  return out
}

const sized = (demand: Pick<SizeDemand, 'entries'> & Partial<SizeDemand>): ReturnType<typeof sizeReport> =>
  sizeReport({ error: 0.01, bits: undefined, probes: undefined, kind: undefined, keyBytes: 60, ...demand })

describe('filter trace shows the textbook\u2019s filter', () => {
  test('of 8 bits and two probes: cherry is certainly not in it, grape is a false hit', async () => {
    const keys = ['--add', 'apple=2,5', '--add', 'banana=5,7', '--query', 'cherry=1,4', '--query', 'grape=2,7']
    expect(await textOf('trace', '--bits', '8', '--probes', '2', ...keys)).toBe(`8 bits, 2 probes for each key

   0 1 2 3 4 5 6 7
   0 0 0 0 0 0 0 0

add apple: is given 2, 5
  bit 2 was 0, is 1
  bit 5 was 0, is 1
   0 1 2 3 4 5 6 7
   0 0 1 0 0 1 0 0
       ^     ^

add banana: is given 5, 7
  bit 5 was 1 already
  bit 7 was 0, is 1
   0 1 2 3 4 5 6 7
   0 0 1 0 0 1 0 1
             ^   ^

query cherry: is given 1, 4
  bit 1 is 0
  bit 4 is 0
   0 1 2 3 4 5 6 7
   0 0 1 0 0 1 0 1
     ^     ^
  certainly not in it: bits 1, 4 are 0

query grape: is given 2, 7
  bit 2 is 1
  bit 7 is 1
   0 1 2 3 4 5 6 7
   0 0 1 0 0 1 0 1
       ^         ^
  may be in it, all its bits are set; a false hit: it was never added

2 entries have set 3 of 8 bits
a stranger is claimed with a chance of 17.1 % by size, 14.1 % by fill
so many bits tell of about 1.8 entries
`)
  })

  test('of 16 bits and one probe: apple, ball and cat are in it, elephant falls on ball\u2019s bit', async () => {
    const keys = [
      '--add',
      'apple=4',
      '--add',
      'ball=9',
      '--add',
      'cat=13',
      '--query',
      'ball=9',
      '--query',
      'elephant=9',
    ]
    const text = await textOf('trace', '--bits', '16', '--probes', '1', ...keys)
    expect(text).toContain(`query ball: is given 9
  bit 9 is 1
    0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15
    0  0  0  0  1  0  0  0  0  1  0  0  0  1  0  0
                               ^
  may be in it, all its bits are set; a true hit: it was added

query elephant: is given 9
  bit 9 is 1
    0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15
    0  0  0  0  1  0  0  0  0  1  0  0  0  1  0  0
                               ^
  may be in it, all its bits are set; a false hit: it was never added

3 entries have set 3 of 16 bits
`)
  })

  test('with positions worked out as in Summary Cache where they are not given', async () => {
    const url = 'http://www.example.com/index.html'
    const positions = [350031637, 3911599919, 3282668683, 2450587191].map((word) => word % 200).join(', ')
    const text = await textOf('trace', '--bits', '200', '--probes', '4', '--hash', 'md5', '--add', url, '--query', url)
    expect(text).toContain(`add ${url}: hashes to ${positions}\n`)
    expect(text).toContain('a true hit: it was added')
  })
})

test('what is given for a key holds wherever it is named, also before', async () => {
  const text = await textOf('trace', '--bits', '8', '--query', 'apple', '--add', 'apple=2,5', '--query', 'apple')
  expect(text.match(/^(?:query|add) .*$/gm)).toEqual(
    ['query', 'add', 'query'].map((verb) => `${verb} apple: is given 2, 5`),
  )
  expect(text).toContain('certainly not in it: bits 2, 5 are 0')
  expect(text).toContain('a true hit: it was added')
})

describe('a trace', () => {
  const { hashing } = KeyHasher.murmur3()
  const traced = (bitCount: number, positions: number[], paint = (_: string, text: string): string => text): string => {
    const steps = (['add', 'query'] as const).map((verb) => ({ verb, key: verb, positions }))
    return traceText(steps, { ...hashing, bitCount, probeCount: positions.length }, KeyHasher.murmur3(), paint)
  }

  test('of many bits is drawn in rows that a terminal of 80 columns shows, each bit once', () => {
    const lines = traced(256, [0, 255]).split('\n')
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80)
    const drawing = lines.slice(lines.findIndex((line) => line.startsWith('add')) + 3).join(' ')
    const numbers = (/[^a-z]+/.exec(drawing)![0].match(/\d+/g) ?? []).map(Number)
    const rows = Array.from({ length: 16 }, (_, row) => [
      ...Array.from({ length: 16 }, (__, i) => 16 * row + i),
      ...Array.from({ length: 16 }, (__, i) => (16 * row + i === 0 || 16 * row + i === 255 ? 1 : 0)),
    ])
    expect(numbers).toEqual(rows.flat())
  })

  test('sets off the bits of a step and the verdict, and nothing else', () => {
    const text = traced(8, [2, 5], (tone, part) => `<${tone}>${part}</>`)
    expect(text).toContain('   0 1 <bold>2</> 3 4 <bold>5</> 6 7\n   0 0 <bold>1</> 0 0 <bold>1</> 0 0\n')
    expect(text).toContain('<red>a false hit</>: it was never added')
    expect(text.replaceAll(/<\w+>|<\/>/g, '')).toBe(traced(8, [2, 5]))
  })

  test('of a filter that is full makes no guess at its entries', () => {
    expect(traced(1, [0])).toMatch(/set 1 of 1 bit\n.*\nevery bit is set, which tells nothing/)
  })
})

describe('filter size', () => {
  test('prints m, k and memory of a Bloom filter beside all kinds and two exact sets', async () => {
    const text = await textOf('size', '--entries', '1e6', '--error', '1/256')
    expect(text).toContain('m = 11541561, k = 8: 11.54 bits an entry, 1.38 MiB')
    for (const name of [...FILTER_KINDS.map((kind) => kind.name), 'set of the keys', 'set of their MD5']) {
      expect(text).toMatch(new RegExp(`^${name} +[\\d.]+ +[\\d.]+ [KM]iB +[\\d.]+ %`, 'm'))
    }
  })

  test('prints the same as JSON', async () => {
    const report = JSON.parse(await textOf('size', '--entries', '1000', '--error', '1%', '--json')) as Record<
      string,
      unknown
    >
    expect(report).toMatchObject({
      entries: 1000,
      error: 0.01,
      bloom: { bitCount: 9594, probeCount: 7, entriesAtError: 1000 },
    })
    expect(report['kinds']).toHaveLength(FILTER_KINDS.length + 2)
  })

  test('goes back from a geometry to its rate and to the entries that fit', async () => {
    const args = ['--entries', '100000', '--bits', '1600000', '--probes', '4', '--error', '0.01', '--json']
    const { bloom } = JSON.parse(await textOf('size', ...args)) as { bloom: Record<string, number> }
    // Summary Cache: 0.24 % at a load factor of 16.
    expect(bloom['falseHitRate']).toBeCloseTo(0.00239, 5)
    expect(bloom['asymptoticRate']).toBeCloseTo(bloom['falseHitRate']!, 6)
    // -(m/k) ln(1 - 0.01^(1/4))
    expect(bloom['entriesAtError']).toBe(152_052)
  })

  test('finds the bits for a number of probes', async () => {
    const args = ['--entries', '1000', '--probes', '2', '--error', '0.01', '--json']
    const { bloom } = JSON.parse(await textOf('size', ...args)) as { bloom: Record<string, number> }
    expect(bloom['falseHitRate']).toBeLessThanOrEqual(0.01)
    expect(bloom['falseHitRate']).toBeGreaterThan(0.00999)
  })

  test('goes on where some kinds cannot do what is asked, and says which and why', () => {
    const text = sizeText(sized({ entries: 10, error: 1e-10 }))
    expect(text).toMatch(/^bloom +59\.20 /m)
    expect(text).toMatch(/^xor +-.* none: no fingerprint for a false hit rate of 1e-10$/m)
    // Here it is the Bloom filter that cannot.
    const other = sizeText(sized({ entries: 1e8, error: 1e-9, kind: 'binary-fuse' }))
    expect(other).toMatch(/no filter of 2147483648 bits or less does[^]*^binary-fuse +33\.78 /m)
  })

  test('tells about bits that are given where no kind can do what is asked', () => {
    const { bloom, kinds } = sized({ entries: 2e9, error: 1e-9, bits: 64 })
    expect(bloom).toMatchObject({ bitCount: 64, entriesAtError: 0 })
    expect(kinds.filter((one) => 'problem' in one)).toHaveLength(FILTER_KINDS.length)
  })

  test('says how the figures of the exact sets come about', () => {
    const text = sizeText(sized({ entries: 1e6, keyBytes: 80 }))
    expect(text).toMatch(/^set of the keys +640 +76\.29 MiB .* at least: 80 bytes for each key/m)
    expect(text).toMatch(/^set of their MD5 +128 +15\.26 MiB .* 16 bytes for each key/m)
  })

  test('answers at once at the greatest error that it takes, for the largest filter', () => {
    const { bloom } = sized({ entries: 1, error: 0.999, bits: 2 ** 31, probes: 16, kind: 'bloom' })
    expect(bloom).toMatchObject({ entriesAtError: 1_299_210_837 })
  })

  test('of one kind only', () => {
    const text = sizeText(sized({ entries: 10, kind: 'ribbon' }))
    expect(text).toMatch(/^ribbon/m)
    expect(text).not.toMatch(/^cuckoo/m)
  })
})

test.each([
  [['size'], /required option '-n, --entries <n>'/],
  [['size', '--entries', 'many'], /'-n, --entries <n>' argument 'many' is invalid. Write a whole number from 1 to/],
  [['size', '--entries', '0'], /Write a whole number from 1/],
  [['size', '--entries', '10', '--error', '1'], /Write a rate above 0 and up to 0.999: 0.01, 1% or 1\/100/],
  [['size', '--entries', '10', '--error', '0.9999999999999999'], /Write a rate above 0/],
  [['size', '--entries', '10', '--error', '0%'], /Write a rate/],
  [['size', '--entries', '10', '--kind', 'quotient'], /Allowed choices are bloom, .*ribbon/],
  [['size', '--entries', '2e9', '--error', '1e-9'], /no filter of 2147483648 bits or less does; ask for fewer entries/],
  [['size', '--entries', '1e9', '--error', '1e-9', '--probes', '1'], /or less does/],
  [['trace'], /nothing to do; name a key by --add or --query/],
  [['trace', '--bits', '8', '--add', 'a=2,8'], /--add a: position 8 of 8 bits; positions go from 0 to 7/],
  [['trace', '--query', 'a=2'], /--query a: 1 position for 2 probes; give 2/],
  [
    ['trace', '--add', 'a=2,5', '--query', 'a=2,3'],
    /--query a: positions 2,3 after 2,5; a key has the same ones always/,
  ],
  [['trace', '--add', '=2,3'], /Write a key, or a key and its positions: apple or apple=2,5/],
  [['trace', '--add', 'a=2,-3'], /Write a key, or a key/],
  [['trace', '--bits', '257', '--add', 'a'], /Write a whole number from 1 to 256/],
])('filter %j is refused with the remedy', (words, complaint) => {
  let said = ''
  const command = filterCommand()
  for (const one of [command, ...command.commands]) {
    one.exitOverride().configureOutput({ writeErr: (text) => (said += text) })
  }
  expect(() => command.parse(words, { from: 'user' })).toThrow(CommanderError)
  expect(said).toMatch(complaint)
})

test('a refusal ends with exit code 2, and leaves standard output alone', async () => {
  const { code, out, err } = await run('filter', 'trace')
  expect([code, out, err]).toEqual([2, '', expect.stringContaining('nothing to do')])
})
