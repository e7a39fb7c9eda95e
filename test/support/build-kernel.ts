import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { argv } from 'node:process'
import { fileURLToPath } from 'node:url'

const FOLDER = 'src/core/filter/wasm'
// The command and not its API: the types that come with that change those of the whole project.
const COMPILER = 'node_modules/assemblyscript/bin/asc.js'
const OPTIONS = '--runtime stub -O3 --converge --noAssert --enable simd --importMemory --noExportMemory --noColors'

/** The text of kernel-binary.ts as kernel.as compiles to. */
export function kernelModule(): string {
  const folder = mkdtempSync(join(tmpdir(), 'summary-cache-kernel-'))
  try {
    const [source, output] = [join(folder, 'kernel.ts'), join(folder, 'kernel.wasm')]
    copyFileSync(`${FOLDER}/kernel.as`, source)
    execFileSync(process.execPath, [COMPILER, source, '--outFile', output, ...OPTIONS.split(' ')])
    const binary = readFileSync(output)
    const lines = binary.toString('base64').match(/.{1,112}/g)!
    const text = lines.map((line, i) => `  '${line}'${i < lines.length - 1 ? ' +' : ''}\n`).join('')
    return `/** kernel.as, compiled by test/support/build-kernel.ts: base64, ${binary.length} bytes. */\nexport const KERNEL_BINARY =\n${text}`
  } finally {
    rmSync(folder, { recursive: true })
  }
}

if (argv[1] === fileURLToPath(import.meta.url)) writeFileSync(`${FOLDER}/kernel-binary.ts`, kernelModule())
