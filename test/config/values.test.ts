import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isLoopbackHost, parseAddressRange } from '../../src/config/address-range.ts'
import { formatByteSize, parseByteSize } from '../../src/config/byte-size.ts'
import { closestWord } from '../../src/config/closest-word.ts'
import { formatDuration, parseDuration } from '../../src/config/duration.ts'
import { expandReferences } from '../../src/config/environment-references.ts'

describe('byte sizes', () => {
  test('KiB count in 1024s and KB in 1000s', () => {
    const decimal = ['0', '17', '1B', '1kB', '1KB', '1MB', '1GB', '1TB'].map(parseByteSize)
    expect(decimal).toEqual([0, 17, 1, 1e3, 1e3, 1e6, 1e9, 1e12])
    const binary = ['1KiB', '256MiB', '1GiB', '2TiB'].map(parseByteSize)
    expect(binary).toEqual([2 ** 10, 2 ** 28, 2 ** 30, 2 ** 41])
  })

  test('what would have to be guessed at is refused', () => {
    const vague = ['', '1G', '1gb', '1.5GB', '1 GB', '-1', '+1', '0x10', '1e6', '1GiBs', '1\n', '9999999TiB']
    expect(vague.filter((text) => parseByteSize(text) !== undefined)).toEqual([])
  })

  test('a size that was written is read back', () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), (bytes) => {
        expect(parseByteSize(formatByteSize(bytes))).toBe(bytes)
      }),
    )
  })
})

describe('durations', () => {
  test('each unit is worth its milliseconds', () => {
    expect(['250ms', '5s', '3m', '1h', '2d'].map(parseDuration)).toEqual([250, 5_000, 180_000, 3_600_000, 172_800_000])
  })

  test('a number alone, a fraction and two units are refused', () => {
    const vague = ['', '5', '1.5s', '1h30m', '5 s', '-1s', '5S', 's', '1s\n']
    expect(vague.filter((text) => parseDuration(text) !== undefined)).toEqual([])
  })

  test('a time that was written is read back', () => {
    fc.assert(
      fc.property(fc.nat({ max: 999_999_999 }), (ms) => {
        expect(parseDuration(formatDuration(ms))).toBe(ms)
      }),
    )
  })
})

describe('address ranges', () => {
  test('an address alone is a range of one', () => {
    expect(parseAddressRange('192.0.2.7')).toEqual({ family: 'ipv4', address: '192.0.2.7', prefixBits: 32 })
    expect(parseAddressRange('::1')).toEqual({ family: 'ipv6', address: '::1', prefixBits: 128 })
    expect(parseAddressRange('::/0')).toEqual({ family: 'ipv6', address: '::', prefixBits: 0 })
  })

  test('what is no address, and a prefix longer than one, are refused', () => {
    const others = ['', '10', '10.0.0', '10.0.0.0/33', '::/129', '10.0.0.0/', 'localhost', 'fe80::1%eth0']
    expect(others.filter((text) => parseAddressRange(text) !== undefined)).toEqual([])
  })

  test('only loopback addresses and localhost are out of reach for others', () => {
    expect(['127.0.0.1', '127.1.2.3', '::1', 'localhost'].every(isLoopbackHost)).toBe(true)
    expect(['0.0.0.0', '::', '10.0.0.1', '127.0.0.1.example.com', 'localhost.example.com'].some(isLoopbackHost)).toBe(
      false,
    )
  })
})

describe('references to the environment', () => {
  const env = { A: 'one', EMPTY: '', NESTED: '${A}' }

  test.each([
    ['plain', 'plain'],
    ['$A and {A}', '$A and {A}'],
    ['${A}', 'one'],
    ['<${A}|${A}>', '<one|one>'],
    ['${B:-two}', 'two'],
    ['${B:-}', ''],
    ['${EMPTY}', ''],
    ['${EMPTY:-two}', 'two'],
    ['${NESTED}', '${A}'],
  ])('%s is %s', (text, expanded) => {
    expect(expandReferences(text, env)).toEqual({ kind: 'text', text: expanded })
  })

  test('a variable without a value and a default is named', () => {
    expect(expandReferences('${A}${B}${C}', env)).toEqual({ kind: 'unset', variable: 'B' })
  })

  test.each(['${', '${A', '${1}', '${A:-${B}}', '${A-b}'])('%s is malformed', (text) => {
    expect(expandReferences(text, env).kind).toBe('malformed')
  })
})

describe('the closest word', () => {
  const words = ['listen', 'peers', 'store', 'stateDir', 'log']

  test.each([
    ['listen', 'listen'],
    ['Listen', 'listen'],
    ['lisetn', 'listen'],
    ['peer', 'peers'],
    ['state_dir', 'stateDir'],
    ['logs', 'log'],
  ])('%s was meant to be %s', (typed, word) => {
    expect(closestWord(typed, words)).toBe(word)
  })

  test('a word far from all is not guessed at', () => {
    for (const typed of ['timeout', 'x', 'lg2s', 'l'.repeat(100_000)]) expect(closestWord(typed, words)).toBeUndefined()
  })
})
