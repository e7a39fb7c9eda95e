import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { selectingValues, varyNames } from '../../../src/core/http/vary.ts'
import { fieldsOf } from './support.ts'
import type { FieldTable } from './support.ts'

const select = (names: readonly string[], request: FieldTable) => selectingValues(names, fieldsOf(request))

describe('names', () => {
  test('[vary-on-two-lines] the lines of Vary are one list', () => {
    expect(varyNames(fieldsOf({ Vary: ['Accept-Encoding', 'X-Requested-With'] }))).toEqual([
      'accept-encoding',
      'x-requested-with',
    ])
  })

  test('names are lower-cased, sorted and taken once; empty members say nothing', () => {
    expect(varyNames(fieldsOf({ Vary: ', Foo ,bar,, FOO' }))).toEqual(['bar', 'foo'])
    expect(varyNames(fieldsOf({}))).toEqual([])
  })

  test.each([['*'], ['*, *'], [', *'], ['*, Foo'], ['Foo, *']])('any * member stands for the whole: %s', (vary) => {
    expect(varyNames(fieldsOf({ Vary: vary }))).toBe('*')
  })

  test.each([[['*', '*']], [['', '*']], [['Foo', '*']]])('a * on any line stands for the whole: %j', (lines) => {
    expect(varyNames(fieldsOf({ Vary: lines }))).toBe('*')
  })

  test('more names than anyone means count as *', () => {
    const names = (count: number) => fieldsOf({ Vary: Array.from({ length: count }, (_, i) => `x-${i}`).join(',') })
    expect(varyNames(names(32))).toHaveLength(32)
    expect(varyNames(names(33))).toBe('*')
  })
})

describe('values', () => {
  test('a field that is absent differs from an empty one', () => {
    expect(select(['foo'], {})).not.toBe(select(['foo'], { Foo: '' }))
  })

  test('two lines equal one line of both', () => {
    expect(select(['foo'], { Foo: ['1', '2'] })).toBe(select(['foo'], { foo: '1, 2' }))
  })

  test.each(['1,2', '1 , 2', ' 1\t,\t2 ', '1,  2'])('white space around commas makes no difference: %j', (value) => {
    expect(select(['foo'], { Foo: value })).toBe(select(['foo'], { Foo: '1,2' }))
  })

  test.each(['1 2', '12', '1,,2', '"1,2"', '2,1'])('another value is another variant: %j', (value) => {
    expect(select(['foo'], { Foo: value })).not.toBe(select(['foo'], { Foo: '1,2' }))
  })

  test('white space within a quoted string, and in what is no list, is text', () => {
    expect(select(['foo'], { Foo: '"a , b"' })).not.toBe(select(['foo'], { Foo: '"a,b"' }))
    expect(select(['cookie'], { Cookie: 'a=1, 2' })).not.toBe(select(['cookie'], { Cookie: 'a=1,2' }))
  })

  test.each(['de, en', 'EN, DE', 'en,de', ' en ,  de', 'en;q=1, de;q=1.0'])(
    'Accept-Language is compared by meaning: %s',
    (value) => {
      expect(select(['accept-language'], { 'Accept-Language': value })).toBe(
        select(['accept-language'], { 'Accept-Language': 'en, de' }),
      )
    },
  )

  test('a weight is part of the meaning', () => {
    expect(select(['accept-language'], { 'Accept-Language': 'en, de;q=0.5' })).not.toBe(
      select(['accept-language'], { 'Accept-Language': 'en, de' }),
    )
  })

  test('[variant-flood] equal lists of codings select one variant', () => {
    expect(select(['accept-encoding'], { 'Accept-Encoding': 'gzip, deflate, br' })).toBe(
      select(['accept-encoding'], { 'Accept-Encoding': 'br,gzip , deflate' }),
    )
  })

  test('without selecting fields there is one variant', () => {
    expect(select([], { Foo: '1' })).toBe('')
  })

  test('two requests have the same variant exactly when every selecting field is the same', () => {
    // Texts without spaces beside commas, which alone are folded here.
    const value = fc.option(fc.string({ unit: fc.constantFrom('a', ',', '"', '[', ']', '\\', ':', 'n'), maxLength: 5 }))
    const request = fc.tuple(value, value, value)
    const names = ['x-a', 'x-b', 'x-c']
    const variant = (values: readonly (string | null)[]) =>
      select(names, Object.fromEntries(names.flatMap((name, i) => (values[i] === null ? [] : [[name, values[i]!]]))))
    fc.assert(
      fc.property(request, request, (one, other) => {
        const same = one.every((text, i) => text === other[i])
        expect(variant(one) === variant(other)).toBe(same)
      }),
      { numRuns: 1000 },
    )
  })

  test.each([' ', '"', '\\', ',', ' ,', '"\\'])('a million of %j are folded in one pass', (unit) => {
    expect(select(['foo'], { Foo: unit.repeat(1_000_000) }).length).toBeLessThan(5_000_000)
  })
})
