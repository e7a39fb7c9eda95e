import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createSocket } from 'node:dgram'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { transportKinds } from '../../src/core/peers/transport-kinds.ts'
import { run } from './run.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'summary-cache-cli-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

describe('the command line', () => {
  test('explains itself with exit code 0', async () => {
    const { code, out } = await run('--help')
    expect(code).toBe(0)
    for (const command of ['serve', 'simulate', 'demo', 'filter', 'openapi']) expect(out).toContain(command)
    expect(await run('--version')).toMatchObject({ code: 0, out: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) as string })
  })

  test.each([[['bogus']], [['serve', '--nonsense']], [['simulate']], [['demo', '--seconds', 'soon']]])(
    'what it does not understand ends with exit code 2: %s',
    async (words) => {
      const { code, err } = await run(...words)
      expect([code, err]).toEqual([2, expect.stringMatching(/error: .+/)])
    },
  )

  test('a configuration with several faults is explained whole, by file, line and key, with exit code 2', async () => {
    const file = join(folder, 'bad.yaml')
    writeFileSync(file, 'name: a\nlisten: { port: 99999 }\nstoer: {}\ndigest: { profile: quick }\n')
    const { code, err } = await run('serve', '--config', file)
    expect(code).toBe(2)
    expect(err.split('\n').filter((line) => line.startsWith(`${file}:`))).toHaveLength(3)
    expect(err).toMatch(/bad\.yaml:2:\d+: listen\.port: /)
    expect(err).toMatch(/bad\.yaml:3:\d+: stoer: .*store/)
    expect(err).toMatch(/bad\.yaml:4:\d+: digest\.profile: /)
  })

  test('a file that is not there is named, with the remedy', async () => {
    const { code, err } = await run('serve', '--config', join(folder, 'none.yaml'))
    expect([code, err]).toEqual([2, expect.stringContaining('none.yaml')])
  })

  test('the help names every transport of digests', async () => {
    const { code, out } = await run('serve', '--help')
    expect(code).toBe(0)
    for (const [name, { description }] of Object.entries(transportKinds))
      expect(out).toContain(`${name}: ${description}`)
  })

  test('--check says that a configuration is usable and does not start', async () => {
    const file = join(folder, 'good.yaml')
    writeFileSync(file, 'name: a\n')
    expect(await run('serve', '--check', '--config', file)).toMatchObject({ code: 0, out: `${file}: usable\n` })
  })

  test('a port that is taken is an error that names the key and the remedy, not a stack trace', async () => {
    const holder = createServer()
    await new Promise<void>((resolve) => holder.listen(0, '127.0.0.1', resolve))
    const { port } = holder.address() as AddressInfo
    const file = join(folder, 'taken.yaml')
    for (const key of ['listen', 'admin']) {
      const other = key === 'listen' ? 'admin' : 'listen'
      writeFileSync(file, `name: a\n${key}: { port: ${port} }\n${other}: { port: 0 }\naccessLog: off\n`)
      const { code, err } = await run('serve', '--config', file)
      expect(code).toBe(1)
      expect(err).toMatch(
        new RegExp(`^summary-cache: ${key}: cannot listen on 127\\.0\\.0\\.1:${port}: .*${key}\\.port\n$`),
      )
    }
    holder.close()
  })

  test('so is a UDP port of the paper’s wire', async () => {
    const holder = createSocket('udp4')
    await new Promise<void>((resolve) => holder.bind(0, '127.0.0.1', resolve))
    const { port } = holder.address()
    const file = join(folder, 'updates.yaml')
    const rest = 'listen: { port: 0 }\nadmin: { port: 0 }\naccessLog: off\n'
    writeFileSync(file, `name: a\ndirUpdate: { listen: { port: ${port} } }\n${rest}`)
    const { code, err } = await run('serve', '--config', file)
    expect([code, err]).toEqual([
      1,
      expect.stringMatching(
        new RegExp(
          `^summary-cache: dirUpdate: cannot listen on 127\\.0\\.0\\.1:${port}: .*EADDRINUSE.*ss -lunp.*dirUpdate\\.listen\\.port\n$`,
        ),
      ),
    ])
    holder.close()
  })

  test('a state directory that cannot be used is named', async () => {
    const file = join(folder, 'state.yaml')
    writeFileSync(file, `name: a\nlisten: { port: 0 }\nadmin: { port: 0 }\naccessLog: off\nstateDir: ${file}\n`)
    const { code, err } = await run('serve', '--config', file)
    expect([code, err]).toEqual([1, expect.stringMatching(/^summary-cache: stateDir: .*state\.yaml/)])
  })
})
