import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { cacheable, claims, get, join, startOrigin, startTestProxy, stopAll, until } from '../cluster/support.ts'
import { launchChromium } from './chromium.ts'

let browser: Browser
const complaints: string[] = []

beforeAll(async () => {
  browser = await launchChromium()
})
afterAll(() => browser.close())
afterEach(async () => {
  for (const context of browser.contexts()) await context.close()
  await stopAll()
})

/** A page that remembers every script error and console complaint. */
async function open(url: string): Promise<Page> {
  complaints.length = 0
  const page = await browser.newPage()
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text())
  })
  await page.goto(url)
  return page
}

/** The text of the card of one proxy. */
function card(page: Page, name: string): Promise<string> {
  return page.locator('#proxies > *', { has: page.getByRole('heading', { name, exact: true }) }).innerText()
}

test('the page shows every proxy of the cluster, and what happens there as it happens', async () => {
  const origin = await startOrigin(cacheable)
  const [a, b] = await Promise.all([startTestProxy('edge-a'), startTestProxy('edge-b')])
  await join(a, b)
  const page = await open(`${a.adminUrl}/`)
  await page.getByRole('heading', { name: 'edge-b', exact: true }).waitFor()
  expect(await card(page, 'edge-b')).toMatch(/Remote hit\s+0/)

  const url = `${origin.url}/page`
  await get(a, url)
  await until(() => claims(b, 'edge-a', url))
  await get(b, url)
  await until(async () => /Remote hit\s+1/.test(await card(page, 'edge-b')))
  await until(async () => /Miss\s+1/.test(await card(page, 'edge-a')))
  const replicas = await page.locator('#replicas').innerText()
  expect(replicas).toMatch(/edge-a\s+edge-b\s+up/)
  expect(replicas).toMatch(/edge-b\s+edge-a\s+up/)
  expect(complaints).toEqual([])
})

test('a proxy that has gone is shown as such, and the page goes on', async () => {
  const [a, b] = await Promise.all([startTestProxy('edge-a'), startTestProxy('edge-b')])
  await join(a, b)
  const page = await open(`${a.adminUrl}/`)
  await page.getByRole('heading', { name: 'edge-b', exact: true }).waitFor()
  await b.stop(0)
  await until(async () => /not reachable/.test(await card(page, 'edge-b')))
  expect(await card(page, 'edge-a')).toMatch(/reachable/)
})

test('a URL is explained and purged, and a hostile one is text, not markup', async () => {
  const origin = await startOrigin(cacheable)
  const a = await startTestProxy('edge-a')
  const url = `${origin.url}/page`
  await get(a, url)
  const page = await open(`${a.adminUrl}/`)
  await page.locator('#url').fill(url)
  await page.getByRole('button', { name: 'Explain' }).click()
  await page.getByText('serve from the store').waitFor()
  await page.getByRole('button', { name: 'Purge' }).click()
  await until(() => a.operator.lookup(url)?.length === 0)

  const hostile = `${origin.url}/<img src=x onerror=alert(1)>`
  await page.locator('#url').fill(hostile)
  await page.getByRole('button', { name: 'Explain' }).click()
  await page.getByText('fetch from the origin').waitFor()
  expect(await page.locator('img').count()).toBe(0)
  expect(complaints).toEqual([])
})

test('with a token the page asks for it, refuses a wrong one, and works with the right one', async () => {
  const token = 'a-token-of-sixteen'
  const a = await startTestProxy('edge-a', `admin: { port: 0, token: ${token} }`)
  const page = await open(`${a.adminUrl}/`)
  await page.locator('#token').fill('something-else-entirely')
  await page.getByRole('button', { name: 'Unlock' }).click()
  await until(async () => (await page.locator('#unlock-problem').innerText()) !== '')
  await page.locator('#token').fill(token)
  await page.getByRole('button', { name: 'Unlock' }).click()
  await page.getByRole('heading', { name: 'edge-a', exact: true }).waitFor()
  expect(await page.locator('#unlock').isVisible()).toBe(false)
})
