import { resolve } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { FILTER_KINDS, KeyHashList, KeyHasher } from '../../src/filters.ts'
import { bundled } from '../package/bundle.ts'
import { launchChromium } from './chromium.ts'

let browser: Browser
beforeAll(async () => {
  browser = await launchChromium()
})
afterAll(async () => browser.close())

test('a browser makes of the same keys the same filters, byte for byte, of every kind', async () => {
  const hasher = KeyHasher.murmur3()
  const keys = new KeyHashList()
  for (let n = 0; n < 300; n++) keys.push(hasher.hashText(`http://www.example.com/${n}`))
  const expected = FILTER_KINDS.map((kind) => Array.from(kind.build(keys, 0.01, hasher.hashing).serialise()))

  const page = await browser.newPage()
  await page.setContent('<!doctype html><title>filters</title>')
  const url = `data:text/javascript;base64,${Buffer.from(await bundled(`export * from '${resolve('src/filters.ts')}'`)).toString('base64')}`
  const made = await page.evaluate(`(async () => {
    const { FILTER_KINDS, KeyHashList, KeyHasher } = await import('${url}')
    const hasher = KeyHasher.murmur3()
    const keys = new KeyHashList()
    for (let n = 0; n < 300; n++) keys.push(hasher.hashText('http://www.example.com/' + n))
    return FILTER_KINDS.map((kind) => [...kind.build(keys, 0.01, hasher.hashing).serialise()])
  })()`)
  expect(made).toEqual(expected)
  await page.close()
})
