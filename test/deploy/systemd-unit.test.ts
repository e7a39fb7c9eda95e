import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'

const unit = readFileSync('deploy/systemd/summary-cache.service', 'utf8')
const manifest: { bin: Record<string, string> } = JSON.parse(readFileSync('package.json', 'utf8'))

// What systemd 249 and later know (systemd.unit, systemd.service, systemd.exec, systemd.kill, systemd.resource-control); a
// key that it does not know it ignores, and the protection that was meant is not there.
const KNOWN: Readonly<Record<string, readonly string[]>> = {
  Unit: ['Description', 'Wants', 'After'],
  Service: [
    ...['Type', 'ExecStart', 'ExecReload', 'Restart', 'RestartSec', 'TimeoutStopSec', 'LimitNOFILE', 'Environment'],
    ...['DynamicUser', 'StateDirectory', 'LogsDirectory', 'UMask', 'NoNewPrivileges', 'CapabilityBoundingSet'],
    ...['AmbientCapabilities', 'ProtectSystem', 'ProtectHome', 'ProtectProc', 'ProtectClock', 'ProtectControlGroups'],
    ...['ProtectHostname', 'ProtectKernelLogs', 'ProtectKernelModules', 'ProtectKernelTunables', 'PrivateDevices'],
    ...['PrivateTmp', 'PrivateUsers', 'LockPersonality', 'RestrictNamespaces', 'RestrictRealtime', 'RestrictSUIDSGID'],
    ...['RestrictAddressFamilies', 'SystemCallArchitectures', 'SystemCallFilter', 'SystemCallErrorNumber'],
  ],
  Install: ['WantedBy'],
}

/** Section, key and value of each line that is neither empty nor a comment. */
function settings(text: string): { readonly section: string; readonly key: string; readonly value: string }[] {
  let section = ''
  return text.split('\n').flatMap((line) => {
    if (line === '' || line.startsWith('#')) return []
    const heading = /^\[(\w+)\]$/.exec(line)
    if (heading) {
      section = heading[1]!
      return []
    }
    const setting = /^([A-Za-z]+)=(.*)$/.exec(line)
    return [{ section, key: setting?.[1] ?? line, value: setting?.[2] ?? '' }]
  })
}

describe('the systemd unit', () => {
  const all = settings(unit)
  const value = (key: string) => all.find((setting) => setting.key === key)?.value

  test('has only sections and keys that systemd knows', () => {
    expect(all.filter(({ section, key }) => !KNOWN[section]?.includes(key))).toEqual([])
    expect(settings('[Service]\nProtectSytem=strict').every(({ section, key }) => KNOWN[section]?.includes(key))).toBe(
      false,
    )
  })

  test('starts the command of the package', () => {
    expect(value('ExecStart')).toBe(
      `/usr/bin/node /opt/summary-cache/${manifest.bin['summary-cache']} serve --config /etc/summary-cache/config.yaml`,
    )
  })

  test("lets the proxy write where the example's state directory is, and nowhere else but its logs", () => {
    expect(readFileSync('deploy/config.example.yaml', 'utf8')).toContain(
      `stateDir: /var/lib/${value('StateDirectory')}\n`,
    )
    expect([value('ProtectSystem'), value('DynamicUser'), value('NoNewPrivileges')]).toEqual(['strict', 'yes', 'yes'])
  })

  test('starts a proxy that failed again, reopens its logs on reload, and waits longer than it lets replies end', () => {
    expect([value('Restart'), value('ExecReload')]).toEqual(['on-failure', '/bin/kill -HUP $MAINPID'])
    expect(Number.parseInt(value('TimeoutStopSec') ?? '', 10)).toBeGreaterThan(10)
  })
})
