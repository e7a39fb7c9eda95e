import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { startAdmin } from '../adapters/admin/admin-client.ts'
import type { Admin } from '../adapters/admin/admin-client.ts'
import { entryView, peerAsked, peerView, requestEnded } from '../adapters/admin/fake-proxy.ts'
import { launchChromium } from './chromium.ts'

const HOSTILE = '<img src=x onerror="document.title=1"><script>document.title=1</script>'

let browser: Browser
let admin: Admin
let page: Page
let complaints: string[]

beforeAll(async () => {
  browser = await launchChromium()
})
afterAll(async () => browser.close())
beforeEach(async () => {
  admin = await startAdmin()
  complaints = []
  page = await browser.newPage()
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('console', (message) => complaints.push(message.text()))
})
afterEach(async () => {
  await page.close()
  await admin.server.close()
})

test('an event is in the list as soon as it happens, though nothing has happened before', async () => {
  await page.goto(address())
  await card('a').waitFor()
  await streaming()
  admin.proxy.emit(requestEnded({ url: 'http://www.example.com/first' }))
  await page.locator('#events').getByText('GET http://www.example.com/first').waitFor()
  await card('a')
    .getByText(/Local hit\s*1$/)
    .waitFor()
  expect(complaints).toEqual([])
})

test('what strangers and peers may choose is shown as text wherever it appears', async () => {
  const url = `http://a/${HOSTILE}`
  admin.proxy.views = [{ ...peerView(HOSTILE, 'up'), url: HOSTILE, reason: HOSTILE }]
  admin.proxy.others.push({
    name: HOSTILE,
    url: HOSTILE,
    reachable: false,
    reason: HOSTILE,
    statistics: null,
    peers: [],
  })
  admin.proxy.held.set(url, [{ ...entryView(url), variant: HOSTILE, contentType: HOSTILE }])
  const title = 'Summary Cache'
  await page.goto(address())
  await card(HOSTILE).waitFor()
  await streaming()
  admin.proxy.emit(requestEnded({ url, method: HOSTILE, server: HOSTILE }))
  admin.proxy.emit(peerAsked({ peer: HOSTILE, outcome: 'false-hit', cause: 'variant' }))
  admin.proxy.emit({ kind: 'peer-changed', peer: HOSTILE, state: 'refused', reason: HOSTILE })
  await page.locator('#events').getByText(`peer ${HOSTILE}`, { exact: true }).waitFor()
  await page.locator('#url').fill(url)
  await page.getByRole('button', { name: 'Explain' }).click()
  await page.locator('#url-answer').getByRole('cell', { name: HOSTILE }).first().waitFor()
  expect(await page.locator('img, main script').count()).toBe(0)
  expect(await page.title()).toBe(title)
  expect(complaints).toEqual([])
})

test('a replica that nothing proves is marked as such', async () => {
  const unproved = peerView('old', 'up')
  admin.proxy.views = [
    peerView('b', 'up'),
    { ...unproved, transport: 'dir-update', proved: false, digest: { ...unproved.digest!, name: '', proved: false } },
  ]
  await page.goto(address())
  const replicas = page.locator('#replicas')
  await replicas.getByText('unproved (paper)').waitFor()
  expect(await replicas.innerText()).toMatch(/a\s+b\s+up\s+420 ms ago[^]*a\s+old\s+up\s+unproved \(paper\)/)
})

test('an API that can not be reached is told at once, with the age of what is shown; and so is its return', async () => {
  await page.goto(address())
  await card('a').waitFor()
  await page.route('**/v1/**', async (route) => route.abort())
  const alert = page.getByRole('alert').filter({ hasText: "The API can't be reached." })
  await alert.waitFor()
  expect(await alert.innerText()).toMatch(/The figures below are .+ old\./)
  expect(await page.locator('#connection').innerText()).toBe('No answer')
  await page.unroute('**/v1/**')
  await page.locator('#connection').getByText('Live').waitFor()
  expect(await alert.isVisible()).toBe(false)
})

test.each([360, 800, 1280])('at a width of %i pixels nothing is cut off at the side', async (width) => {
  admin.proxy.views = [peerView('a-peer-with-quite-a-long-name.example.net', 'up'), peerView('c', 'suspended')]
  admin.proxy.emit(requestEnded({ url: `http://www.example.com/${'long'.repeat(60)}` }))
  await page.setViewportSize({ width, height: 900 })
  await page.goto(address())
  await card('a').waitFor()
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width)
})

function address(): string {
  return `http://127.0.0.1:${admin.port}/`
}

function card(name: string) {
  return page.locator('#proxies > *', { has: page.getByRole('heading', { name, exact: true }) })
}

/** The page has its place at the event stream: what happened before is not told to it. */
async function streaming(): Promise<void> {
  await page.locator('#event-state:empty').waitFor({ state: 'attached' })
}
