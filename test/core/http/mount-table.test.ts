import { expect, test } from 'vitest'
import { MountTable } from '../../../src/core/http/mount-table.ts'

const table = new MountTable([
  { host: undefined, path: '/', origin: 'http://fallback.example/' },
  { host: 'npm.local', path: '/', origin: 'https://registry.npmjs.org/' },
  { host: 'npm.local', path: '/deb/', origin: 'http://deb.example/debian/' },
  { host: '[::1]', path: '/six/', origin: 'http://six.example/' },
])

test.each([
  ['http://npm.local/left-pad?a=1', 'https://registry.npmjs.org/left-pad?a=1'],
  ['http://npm.local:3128/left-pad', 'https://registry.npmjs.org/left-pad'],
  ['http://npm.local/deb/pool/x.deb', 'http://deb.example/debian/pool/x.deb'],
  ['http://npm.local/deb', 'http://deb.example/debian/'],
  ['http://npm.local/debris', 'https://registry.npmjs.org/debris'],
  ['http://[::1]:3128/six/x', 'http://six.example/x'],
  ['http://other.example/x', 'http://fallback.example/x'],
])('%s is %s at its origin', (asked, wanted) => {
  expect(table.originUrl(asked)).toBe(wanted)
})

test('without a mount that fits there is no origin', () => {
  expect(new MountTable([{ host: 'a', path: '/x/', origin: 'http://o/' }]).originUrl('http://a/y')).toBeUndefined()
})
