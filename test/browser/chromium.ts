import { chromium, type Browser } from 'playwright-core'

// Without its background services Chromium looks nowhere but at the page.
const ARGUMENTS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

export function launchChromium(): Promise<Browser> {
  const executablePath = process.env['CHROMIUM_PATH'] ?? '/usr/bin/chromium'
  return chromium.launch({ executablePath, args: ARGUMENTS })
}
