import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { loadConfig, parseConfig } from '../src/config.ts'
import { ConfigError } from '../src/config/config-error.ts'

const TOKEN = 'correct-horse-battery-staple'
const KEY = 'all-proxies-know-this'

function parsed(text: string, env: Record<string, string | undefined> = {}) {
  return parseConfig(text, '/etc/summary-cache/config.yaml', env)
}

/** The error that `load` ends with; fails when it ends well. */
function refusal(load: () => unknown): ConfigError {
  try {
    load()
  } catch (error) {
    if (error instanceof ConfigError) return error
    throw error
  }
  return expect.fail('the configuration was accepted')
}

/** What is wrong with the text, line by line. */
function complaints(text: string, env: Record<string, string | undefined> = {}): string[] {
  return refusal(() => parseConfig(text, 'c.yaml', env)).message.split('\n')
}

describe('defaults', () => {
  test('an empty file, no file and empty sections all mean the same configuration', () => {
    const empty = parsed('name: a\n')
    expect(parsed('name: a\nlisten:\nstore: {}\npeers:\nadmin: ~\naccessLog: null\n')).toEqual(empty)
    expect({ ...loadConfig(undefined, {}), name: 'a' }).toEqual(empty)
  })

  test('without a configuration, only this machine can reach the proxy and its administration', () => {
    const { listen, admin, forward } = loadConfig(undefined, {})
    expect(listen).toEqual({ host: '127.0.0.1', port: 3128 })
    expect(admin).toEqual({ host: '127.0.0.1', port: 8128, token: undefined })
    expect(forward).toEqual({ enabled: true, connectPorts: [443] })
  })

  test("the clients by default are Squid's localnet", () => {
    const ranges = parsed('').access.clients.map(({ address, prefixBits }) => `${address}/${prefixBits}`)
    expect(ranges.toSorted()).toEqual(
      '127.0.0.0/8 ::1/128 10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 169.254.0.0/16 fc00::/7 fe80::/10'
        .split(' ')
        .toSorted(),
    )
  })

  test('the name by default is the host name', () => {
    expect(parsed('').name).toBe(hostname())
  })

  test('the largest object by default fits into a small memory', () => {
    expect(parsed('store: { memory: 4MiB }').store).toMatchObject({ memoryBytes: 2 ** 22, maxObjectBytes: 2 ** 22 })
  })
})

test('every key is read', () => {
  const config = parsed(
    `
name: edge-a
listen: { host: "::", port: 0 }
access: { clients: [192.0.2.1, "2001:db8::/32"] }
forward: { enabled: false, connectPorts: [443, 8443] }
mounts:
  - { host: Registry.Local, path: /npm/, origin: "https://registry.npmjs.org" }
  - { host: mirror.local, origin: "http://deb.debian.org/debian/" }
  - { path: /x/, origin: "http://x.test:8080/" }
store: { memory: 1GB, maxObject: 65536, eviction: lru }
digest: { profile: thrifty, expectedEntries: 5000, pendingClears: 2.5%, generationAge: 1h, heartbeat: 250ms, icpShare: 5% }
peers:
  - { name: edge-a, url: "http://10.0.0.1:3128" }
  - { name: edge-b, url: "http://10.0.0.2:3128/" }
  - { name: edge-c, url: "http://10.0.0.3:3128", transport: dir-update, updates: "[FC00::3]:3130" }
  - { name: edge-d, url: "https://edge-c.example:3129" }
cluster: { key: ${KEY} }
peering: { listen: { host: "::", port: 0 }, tls: { certificate: tls/a.pem, key: tls/a-key.pem, ca: /etc/ssl/cluster.pem } }
dirUpdate: { listen: { host: "::", port: 4130 }, newDocuments: 0.5%, maxAge: 10s, refresh: 2m }
lookup: { ask: all, tries: 4, addedDelay: 250ms, probes: 0%, switchOff: false }
sharing: single-copy
peerTimeout: 300ms
originTimeout: 1m
admin: { host: 0.0.0.0, port: 9000, token: ${TOKEN} }
accessLog: { path: logs/access.log, format: json }
log: { level: warn }
stateDir: /var/lib/summary-cache
`,
  )
  expect(config).toEqual({
    name: 'edge-a',
    listen: { host: '::', port: 0 },
    access: {
      clients: [
        { family: 'ipv4', address: '192.0.2.1', prefixBits: 32 },
        { family: 'ipv6', address: '2001:db8::', prefixBits: 32 },
      ],
    },
    forward: { enabled: false, connectPorts: [443, 8443] },
    mounts: [
      { host: 'registry.local', path: '/npm/', origin: 'https://registry.npmjs.org/' },
      { host: 'mirror.local', path: '/', origin: 'http://deb.debian.org/debian/' },
      { host: undefined, path: '/x/', origin: 'http://x.test:8080/' },
    ],
    store: { memoryBytes: 1e9, maxObjectBytes: 65_536, eviction: 'lru' },
    digest: {
      profile: 'thrifty',
      expectedEntries: 5000,
      pendingClearsShare: 0.025,
      generationAgeMs: 3_600_000,
      heartbeatMs: 250,
      icpShare: 0.05,
    },
    peers: [
      { name: 'edge-b', url: 'http://10.0.0.2:3128' },
      { name: 'edge-c', url: 'http://10.0.0.3:3128', transport: 'dir-update', updates: '[fc00::3]:3130' },
      { name: 'edge-d', url: 'https://edge-c.example:3129' },
    ],
    cluster: { key: KEY },
    peering: {
      listen: { host: '::', port: 0 },
      tls: {
        certificate: '/etc/summary-cache/tls/a.pem',
        key: '/etc/summary-cache/tls/a-key.pem',
        ca: '/etc/ssl/cluster.pem',
      },
    },
    dirUpdate: {
      listen: { host: '::', port: 4130 },
      newDocumentShare: 0.005,
      maxAgeMs: 10_000,
      refreshMs: 120_000,
    },
    lookup: { ask: 'all', tries: 4, addedDelayMs: 250, probeShare: 0, switchesOff: false },
    sharing: 'single-copy',
    peerTimeoutMs: 300,
    originTimeoutMs: 60_000,
    admin: { host: '0.0.0.0', port: 9000, token: TOKEN },
    accessLog: { path: '/etc/summary-cache/logs/access.log', format: 'json' },
    log: { level: 'warn' },
    stateDir: '/var/lib/summary-cache',
  })
})

test('a configuration is frozen to the bottom', () => {
  const config = parsed(
    'name: a\npeers: [{ name: b, url: "http://b:1" }]\nmounts: [{ path: /m/, origin: "http://o/" }]',
  )
  const unfrozen = (value: object): object[] => [
    ...(Object.isFrozen(value) ? [] : [value]),
    ...Object.values(value).flatMap((v) => (Object(v) === v ? unfrozen(v) : [])),
  ]
  expect(unfrozen(config)).toEqual([])
  expect(unfrozen({ a: [{}] })).toHaveLength(3)
})

test('the access log can be switched off', () => {
  expect(parsed('accessLog: off').accessLog).toBeUndefined()
  expect(parsed('accessLog: {}').accessLog).toEqual({ path: '-', format: 'squid' })
  expect(complaints('accessLog: no')).toEqual(['c.yaml:1:12: accessLog: "no" is not one of off; write one of off'])
})

test('one file serves the whole cluster: our own entry is not a peer', () => {
  const cluster = 'name: ${POD}\npeers: [{ name: e-0, url: "http://e-0:1" }, { name: e-1, url: "http://e-1:1" }]'
  expect(parsed(cluster, { POD: 'e-0' }).peers.map(({ name }) => name)).toEqual(['e-1'])
  expect(parsed(cluster, { POD: 'e-1' }).peers.map(({ name }) => name)).toEqual(['e-0'])
})

describe('the wire of Summary Cache', () => {
  const peer = 'peers: [{ name: b, url: "http://b:1", transport: dir-update, updates: "B.example:3130" }]'

  test('is switched off until its section is there or a peer needs it', () => {
    expect(parsed('name: a').dirUpdate).toBeUndefined()
    const on = {
      listen: { host: '127.0.0.1', port: 3130 },
      newDocumentShare: 0.01,
      maxAgeMs: 60_000,
      refreshMs: 300_000,
    }
    expect(parsed('name: a\ndirUpdate: {}').dirUpdate).toEqual(on)
    expect(parsed(`name: a\n${peer}`).dirUpdate).toEqual(on)
    expect(parsed(`name: a\n${peer}`).peers[0]?.updates).toBe('b.example:3130')
  })

  test('one file serves the whole cluster: a proxy that is alone in it needs no updates', () => {
    expect(parsed(`name: b\n${peer}`)).toMatchObject({ peers: [], dirUpdate: undefined })
  })

  test.each([
    ['transport: pigeon', 'peers[0].transport: "pigeon" is not one of http, dir-update'],
    ['transport: dir-update', 'peers[0]: has no updates; write where it takes and sends its updates, as 10.0.0.2:3130'],
    ['updates: "b:1"', 'peers[0].updates: only a peer whose transport takes updates has an address for them'],
    ['transport: http, updates: "b:1"', 'peers[0].updates: only a peer whose transport takes updates'],
    ['transport: dir-update, updates: "b"', 'peers[0].updates: "b" is no host and port'],
    ['transport: dir-update, updates: "b:0"', 'peers[0].updates: "b:0" is no host and port'],
    ['transport: dir-update, updates: "b:65536"', 'peers[0].updates: "b:65536" is no host and port'],
    ['transport: dir-update, updates: "fc00::1:3130"', 'peers[0].updates: "fc00::1:3130" is no host and port'],
    ['transport: dir-update, updates: "10.0.0.256:1"', 'peers[0].updates: "10.0.0.256:1" is no host and port'],
  ])('a peer with %s is named with its mistake', (fields, complaint) => {
    expect(complaints(`peers: [{ name: b, url: "http://b:1", ${fields} }]`)[0]).toContain(complaint)
  })

  test('two peers have two addresses', () => {
    const both = ['b', 'c'].map(
      (name) => `{ name: ${name}, url: "http://${name}:1", transport: dir-update, updates: "x:1" }`,
    )
    expect(complaints(`name: a\npeers: [${both.join(', ')}]`)[0]).toContain(
      'peers[1]: another peer has its updates at x:1',
    )
  })
})

test('1,024 peers beside our own entry are allowed, and no more', () => {
  const peers = (count: number) =>
    `name: p0\npeers:\n${Array.from({ length: count }, (_, i) => `  - { name: p${i}, url: "http://h${i}:1" }\n`).join('')}`
  expect(parsed(peers(1025)).peers).toHaveLength(1024)
  expect(complaints(peers(1025).replace('name: p0', 'name: x'))).toEqual([
    'c.yaml:3:3: peers: has 1025 peers, and at most 1024 are allowed; leave some out',
  ])
  expect(complaints(peers(1026))[0]).toContain('has 1026 peers, and at most 1025')
})

describe('the environment', () => {
  test('a reference stands for a variable anywhere in a value', () => {
    const env = { PORT: '4000', ZONE: 'eu', FORWARD: 'false' }
    const config = parsed(
      'name: edge-${ZONE}-${N:-1}\nlisten: { port: "${PORT}" }\nforward: { enabled: "${FORWARD}" }',
      env,
    )
    expect([config.name, config.listen.port, config.forward.enabled]).toEqual(['edge-eu-1', 4000, false])
  })

  test('a variable that is not set and has no default is named', () => {
    expect(complaints('name: ${POD_NAME}')).toEqual([
      'c.yaml:1:7: name: environment variable POD_NAME is not set; set it, or write ${POD_NAME:-default}',
    ])
  })

  test('what is nearly a reference is not taken for text', () => {
    expect(complaints('name: ${pod-name}')).toEqual([
      'c.yaml:1:7: name: "${pod-name}" is no reference to the environment; write ${NAME} or ${NAME:-default}',
    ])
  })
})

describe('problems', () => {
  test('all are found at once, in the order of the file, each with its place and its remedy', () => {
    const text = `name: "bad name"
lissten: { port: 3128 }
store:
  memory: 256M
  maxObjct: 1MiB
peers:
  - { name: a, url: "http://a:3128/x" }
  - name: b
digest: [1]
peerTimeout: 500
log: { level: infos }
`
    expect(complaints(text)).toEqual([
      `c.yaml:1:7: name: "bad name" cannot be a proxy's name; write 1 to 64 letters, digits, '-', '_' or '.'`,
      'c.yaml:2:1: lissten: unknown key; did you mean listen?',
      'c.yaml:4:11: store.memory: "256M" is no size; write it as 256MiB, 1GB or plain bytes',
      'c.yaml:5:3: store.maxObjct: unknown key; did you mean maxObject?',
      'c.yaml:7:21: peers[0].url: "http://a:3128/x" is no address of a proxy port; write it as http://10.0.0.2:3128, with nothing after',
      'c.yaml:8:5: peers[1]: has no url; write where its proxy port is, as http://10.0.0.2:3128',
      'c.yaml:9:9: digest: must be a mapping, not a list; write keys below it: profile, expectedEntries, pendingClears, generationAge, heartbeat, icpShare',
      'c.yaml:10:14: peerTimeout: "500" is no time with a unit; write 500ms or 500s',
      'c.yaml:11:15: log.level: "infos" is not one of trace, debug, info, warn, error, fatal, silent; did you mean info?',
    ])
  })

  test('each is also there as facts', () => {
    const error = refusal(() => parsed('log: { level: loud }'))
    expect(error.code).toBe('CONFIG')
    expect(error.problems).toMatchObject([
      { file: '/etc/summary-cache/config.yaml', line: 1, column: 15, keyPath: 'log.level' },
    ])
  })

  // text; the complaint, less its place
  test.each([
    ['- a', '(file): must be a mapping, not a list'],
    ['name: [a]', 'name: must be a name, not a list'],
    ['name: ""', `name: "" cannot be a proxy's name`],
    [`name: ${'n'.repeat(65)}`, `name: "${'n'.repeat(60)}..." cannot be a proxy's name`],
    ['listen: { port: 65536 }', 'listen.port: "65536" is too large; write a whole number from 0 to 65535'],
    ['listen: { port: -1 }', 'listen.port: "-1" is no whole number'],
    ['listen: { port: 1e3 }', 'listen.port: "1e3" is no whole number'],
    ['listen: { host: 10.0.0.256 }', 'listen.host: "10.0.0.256" is neither an address nor a host name'],
    ['listen: { host: "http://x" }', 'listen.host: "http://x" is neither an address nor a host name'],
    ['access: { clients: 10.0.0.0/8 }', 'access.clients: must be a list of address ranges, not "10.0.0.0/8"'],
    ['access: { clients: [10.0.0.0/33] }', 'access.clients[0]: "10.0.0.0/33" is no address range'],
    ['forward: { enabled: yes }', 'forward.enabled: "yes" is not one of true, false; write one of true, false'],
    ['forward: { connectPorts: [0] }', 'forward.connectPorts[0]: "0" is too small'],
    ['mounts: [{ origin: "http://o/" }]', 'mounts[0]: has neither host nor path'],
    ['mounts: [{ path: /a/ }]', 'mounts[0]: has no origin; write the URL that it stands for'],
    ['mounts: [{ path: /a, origin: "http://o/" }]', 'mounts[0].path: "/a" is no mount path'],
    ['mounts: [{ path: /a/, origin: "ftp://o/" }]', 'mounts[0].origin: "ftp://o/" is no absolute http or https URL'],
    ['mounts: [{ path: /a/, origin: "http:o/" }]', 'mounts[0].origin: "http:o/" is no absolute http or https URL'],
    ['mounts: [{ path: /a/, origin: "http://o/x" }]', 'mounts[0].origin: "http://o/x" does not end with a slash'],
    ['mounts: [{ path: /a/, origin: "http://o/?q" }]', 'mounts[0].origin: has credentials, a query or a fragment'],
    [
      'mounts: [{ host: h, origin: "http://o/" }, { host: H, path: /, origin: "http://p/" }]',
      'mounts[1]: another mount has the same host and path',
    ],
    ['store: { memory: 1KiB }', 'store.memory: "1KiB" is too small; write a size from 1MiB to 64GiB'],
    [
      'store: { memory: 1MiB, maxObject: 2MiB }',
      'store.maxObject: "2MiB" is too large; write a size from 1KiB to 1MiB',
    ],
    ['store: { eviction: lur }', 'store.eviction: "lur" is not one of sieve, lru; did you mean lru?'],
    ['digest: { profile: paperr }', 'digest.profile: "paperr" is not one of fresh, balanced, thrifty, paper'],
    ['digest: { pendingClears: 3 }', 'digest.pendingClears: "3" is no percentage; write it as 3% or 0.5%'],
    ['digest: { pendingClears: 60% }', 'digest.pendingClears: "60%" is too large'],
    ['digest: { heartbeat: 5 s }', 'digest.heartbeat: "5 s" is no time with a unit'],
    ['peerTimeout: 801ms', 'peerTimeout: "801ms" is too large; write a time from 10ms to 800ms'],
    ['peers: [{ name: a, url: "ftp://a:1" }]', 'peers[0].url: "ftp://a:1" is no address of a proxy port'],
    [
      'peers: [{ name: a, url: "https://a:1" }]',
      'peers[0].url: "https://a:1" cannot be reached without a certificate of ours; set peering.tls, or write',
    ],
    [
      'peering: { tls: { certificate: a, key: b, ca: c } }\npeers: [{ name: a, url: "https://a:1", transport: dir-update, updates: "a:2" }]',
      'c.yaml:2:25: peers[0].url: updates come by UDP, which no certificate protects; write its proxy port, with http',
    ],
    ['peering: { listen: { port: 1 } }', 'peering.listen: peering has no tls; write tls with certificate, key and ca'],
    ['peering: { tls: { certificate: a, ca: b } }', 'peering.tls: has no key; write the path of the PEM file'],
    ['peering: { tls: { certificate: a, key: b, ca: "" } }', 'peering.tls.ca: "" is no path'],
    ['cluster: { keys: x }', 'cluster.keys: unknown key; did you mean key?'],
    [
      'peers: [{ name: a, url: "http://a:1" }, { name: a, url: "http://b:1" }]',
      'peers[1]: another peer is called a; give each its own name',
    ],
    [
      'peers: [{ name: a, url: "http://a:1" }, { name: b, url: "http://A:1/" }]',
      'peers[1]: another peer is at http://a:1',
    ],
    ['stateDir: ""', 'stateDir: "" is no path'],
  ])('%s', (text, complaint) => {
    const found = complaints(text)
    expect(found).toHaveLength(1)
    expect(found[0]!.replace(/^c\.yaml:1:\d+: /, '').slice(0, complaint.length)).toBe(complaint)
  })

  test('a list that is too long is refused before its items are looked at', () => {
    const ports = complaints(`forward: { connectPorts: [${'bad, '.repeat(65)}] }`)
    expect(ports).toEqual([
      'c.yaml:1:26: forward.connectPorts: has 65 ports, and at most 64 are allowed; leave some out',
    ])
  })
})

describe('YAML', () => {
  test('a key given twice is reported beside everything else', () => {
    expect(complaints('log: { level: info }\nlog: { level: loud }\nnmae: a')).toEqual([
      'c.yaml:2:1: (syntax): Map keys must be unique; keep one of them',
      'c.yaml:2:15: log.level: "loud" is not one of trace, debug, info, warn, error, fatal, silent; write one of trace, debug, info, warn, error, fatal, silent',
      'c.yaml:3:1: nmae: unknown key; did you mean name?',
    ])
  })

  test('a broken text is reported by itself', () => {
    const found = complaints('nmae: [a\nlog: x\n')
    expect(found.length).toBeGreaterThan(0)
    for (const line of found) expect(line).toMatch(/^c\.yaml:\d+:\d+: \(syntax\): .+; .+$/)
  })

  test('an unquoted reference inside braces says that it wants quotes', () => {
    expect(complaints('admin: { token: ${TOKEN} }')[0]).toMatch(/^c\.yaml:1:\d+: \(syntax\): .*; quote a value/)
  })

  test('an anchor can be used again, and one that does not exist is named', () => {
    const text = 'listen: &here { host: 127.0.0.1 }\nadmin: *here'
    expect(parsed(text).admin.host).toBe('127.0.0.1')
    expect(complaints('listen: *there')[0]).toContain('listen: must be a mapping, not the unknown alias *there')
  })

  test('two documents in one file are one too many', () => {
    expect(complaints('name: a\n---\nname: b')[0]).toContain('(syntax): ')
  })
})

describe('administration', () => {
  test('beyond this machine it needs a token', () => {
    expect(complaints('admin: { host: 0.0.0.0 }')).toEqual([
      'c.yaml:1:16: admin.host: 0.0.0.0 can be reached by other machines, and no token is set; ' +
        'set admin.token or admin.tokenFile, or use host 127.0.0.1',
    ])
    for (const host of ['127.0.0.1', '127.9.9.9', '"::1"', 'localhost']) parsed(`admin: { host: ${host} }`)
    for (const host of ['10.0.0.1', '"::"', '127.example.com']) complaints(`admin: { host: ${host} }`)
  })

  test('a bad token is refused without being shown', () => {
    const [line] = complaints('admin: { token: secret }')
    expect(line).toMatch(/^c\.yaml:1:17: admin\.token: is no token of 16 to 512 letters/)
    expect(line).not.toContain('secret')
  })
})

describe('the key of the cluster', () => {
  test('a bad one is refused without being shown', () => {
    for (const key of ['fifteen-letters', 'x'.repeat(513), '"sixteen\\tletters and more"', '""']) {
      const [line] = complaints(`cluster: { key: ${key} }`)
      expect(line).toMatch(/^c\.yaml:1:17: cluster\.key: is no key of 16 to 512 bytes on one line; make one with/)
      expect(line).not.toContain('fifteen')
      expect(line).not.toContain('sixteen')
    }
  })

  test('comes from the environment, and bytes are what counts', () => {
    expect(parsed('cluster: { key: "${K}" }', { K: 'ключ-ключ' }).cluster.key).toBe('ключ-ключ')
    expect(parsed('').cluster.key).toBe(undefined)
  })
})

describe('files', () => {
  let folder = ''
  const at = (name: string, text: string) => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }
  const failure = (path: string) => refusal(() => loadConfig(path, {})).message
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'summary-cache-config-'))
  })
  afterAll(() => {
    rmSync(folder, { recursive: true })
  })

  test('a file that is missing, no file or too large is named', () => {
    expect(failure(join(folder, 'none.yaml'))).toMatch(
      /none\.yaml:1:1: \(file\): ENOENT: .*; give the path of a readable/,
    )
    expect(failure(folder)).toMatch(/:1:1: \(file\): .* is not a file; /)
    expect(failure('/dev/zero')).toContain('/dev/zero is not a file')
    expect(failure(at('large.yaml', `#${'x'.repeat(2 ** 20)}`))).toContain('has more than 1048576 bytes')
  })

  test('a token is read from the file beside the configuration, a link as well', () => {
    at('..data', `${TOKEN}\n`)
    symlinkSync('..data', join(folder, 'token'))
    expect(loadConfig(at('a.yaml', 'admin: { host: 0.0.0.0, tokenFile: token }'), {}).admin.token).toBe(TOKEN)
  })

  test('the key of the cluster is read from a file of its own, and given once', () => {
    at('cluster-key', `${KEY}\n`)
    expect(loadConfig(at('k.yaml', 'cluster: { keyFile: cluster-key }'), {}).cluster.key).toBe(KEY)
    expect(failure(at('l.yaml', `cluster: { key: ${KEY}, keyFile: cluster-key }`))).toContain(
      'cluster.keyFile: key is given',
    )
    expect(failure(at('m.yaml', 'cluster: { keyFile: absent }'))).toMatch(/m\.yaml:1:21: cluster\.keyFile: ENOENT/)
  })

  test('a token file that cannot serve is reported at its key', () => {
    expect(failure(at('b.yaml', 'admin: { tokenFile: absent }'))).toMatch(/b\.yaml:1:21: admin\.tokenFile: ENOENT/)
    at('empty', '\n')
    expect(failure(at('c.yaml', 'admin: { tokenFile: empty }'))).toContain('admin.tokenFile: is no token of 16')
    expect(failure(at('d.yaml', `admin: { token: ${TOKEN}, tokenFile: empty }`))).toContain(
      'd.yaml:1:58: admin.tokenFile: token is given too',
    )
  })
})
