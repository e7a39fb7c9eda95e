import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { loadConfig } from '../../src/config.ts'

const dockerfile = readFileSync('Dockerfile', 'utf8')
const manifest: { version: string; bin: Record<string, string> } = JSON.parse(readFileSync('package.json', 'utf8'))

/** The instructions of the last stage: what the image is. */
const image = dockerfile
  .slice(dockerfile.lastIndexOf('\nFROM ') + 1)
  .replaceAll('\\\n', '')
  .split('\n')
  .filter((line) => /^[A-Z]/.test(line))

function instruction(name: string): string {
  return (
    image
      .find((line) => line.startsWith(`${name} `))
      ?.slice(name.length + 1)
      .trim() ?? ''
  )
}

describe('the image', () => {
  test('starts the command of the package, with the configuration that it holds', () => {
    const [node, script]: string[] = JSON.parse(instruction('ENTRYPOINT'))
    const command: string[] = JSON.parse(instruction('CMD'))
    expect([node, script]).toEqual(['node', `/app/${manifest.bin['summary-cache']}`])
    expect(command).toEqual(['serve', '--config', '/etc/summary-cache/config.yaml'])
    expect(image).toContain('COPY deploy/docker/config.yaml /etc/summary-cache/config.yaml')
  })

  test('bears the version of the package', () => {
    expect(image).toContain(`ARG VERSION=${manifest.version}`)
  })

  test('runs as an ordinary user, who may write the state directory', () => {
    const { stateDir } = loadConfig('deploy/docker/config.yaml', {})
    expect(image.indexOf('USER node')).toBeGreaterThan(image.indexOf(`RUN install -d -o node -g node ${stateDir}`))
    expect(instruction('VOLUME')).toBe(stateDir)
  })

  test('exposes the ports of its configuration and asks the administration for its health', () => {
    const { listen, admin } = loadConfig('deploy/docker/config.yaml', {})
    expect(instruction('EXPOSE')).toBe(`${listen.port} ${admin.port}`)
    expect(instruction('HEALTHCHECK')).toContain(`http://127.0.0.1:${admin.port}/v1/health`)
    // The health check runs inside: a loopback address serves it, and is all that needs no token.
    expect([listen.host, admin.host]).toEqual(['0.0.0.0', '127.0.0.1'])
  })

  test('is built from files that are there and not ignored', () => {
    const allowed = readFileSync('.dockerignore', 'utf8')
      .split('\n')
      .filter((line) => line.startsWith('!'))
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+)$/gm)].flatMap(([, args]) =>
      args!.split(' ').slice(0, -1),
    )
    expect(copied.length).toBeGreaterThan(5)
    expect(copied.filter((path) => !existsSync(path))).toEqual([])
    expect([...new Set(copied)].toSorted()).toEqual(allowed.map((line) => line.slice(1)).toSorted())
  })

  test('needs no frontend and no cache mount, which plain builders lack', () => {
    expect(dockerfile).not.toMatch(/^#\s*syntax=|--mount/m)
  })
})

interface Composition {
  readonly services: Readonly<
    Record<string, { readonly environment?: Readonly<Record<string, string>>; readonly ports: readonly string[] }>
  >
}

describe('the composition', () => {
  const { services }: Composition = parse(readFileSync('docker-compose.yml', 'utf8'), { merge: true })
  const proxies = Object.entries(services).filter(([, { environment }]) => environment !== undefined)

  test('gives each proxy the name by which its peers know it', () => {
    for (const [service, { environment }] of proxies) expect(environment?.['PROXY_NAME']).toBe(service)
    const peers = loadConfig('deploy/compose/config.yaml', {
      PROXY_NAME: 'none',
      SUMMARY_CACHE_TOKEN: 'x'.repeat(16),
    }).peers
    expect(peers).toEqual(proxies.map(([service]) => ({ name: service, url: `http://${service}:3128` })))
  })

  test('publishes ports of the configuration, on this machine alone', () => {
    const { listen, admin } = loadConfig('deploy/compose/config.yaml', {
      PROXY_NAME: 'a',
      SUMMARY_CACHE_TOKEN: 'x'.repeat(16),
    })
    for (const [, { ports }] of proxies)
      expect(ports.map((port) => port.split(':')[2])).toEqual([`${listen.port}`, `${admin.port}`])
    const published = Object.values(services).flatMap(({ ports }) => ports)
    expect(published.every((port) => port.startsWith('127.0.0.1:'))).toBe(true)
    expect(new Set(published.map((port) => port.split(':')[1])).size).toBe(7)
  })
})
