import { readFileSync, writeFileSync } from 'node:fs'
import { argv } from 'node:process'
import { fileURLToPath } from 'node:url'
import wabt from 'wabt'

const FOLDER = 'src/core/filter/wasm'

/** The text of kernel-binary.ts as kernel.wat assembles to. */
export async function kernelModule(): Promise<string> {
  const assembler = await wabt()
  const module = assembler.parseWat('kernel.wat', readFileSync(`${FOLDER}/kernel.wat`, 'utf8'), { simd: true })
  try {
    module.validate()
    const binary = module.toBinary({}).buffer
    const lines = Buffer.from(binary)
      .toString('base64')
      .match(/.{1,112}/g)!
    const text = lines.map((line, i) => `  '${line}'${i < lines.length - 1 ? ' +' : ''}\n`).join('')
    return `/** kernel.wat, assembled by test/support/build-kernel.ts: base64, ${binary.length} bytes. */\nexport const KERNEL_BINARY =\n${text}`
  } finally {
    module.destroy()
  }
}

if (argv[1] === fileURLToPath(import.meta.url)) writeFileSync(`${FOLDER}/kernel-binary.ts`, await kernelModule())
