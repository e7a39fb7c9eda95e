import { readFileSync } from 'node:fs'
import { createSecretKey } from 'node:crypto'
import { expect, test } from 'vitest'
import { FrameMac } from '../../src/adapters/transport/frame-mac.ts'
import { parseSignature, signatureHolds, signRequest } from '../../src/adapters/transport/request-signature.ts'
import { decodeDigestMessage } from '../../src/core/digest/digest-codec.ts'

const text = readFileSync('docs/protocol.md', 'utf8')

test('the signed request and the tagged frame in the document are ours', () => {
  const keyText = /Under the key `([^`]+)`/.exec(text)![1]!
  const example =
    /```text\nPOST (\S+) with the body (\w+)\nAuthorization: (.+)\nSummary-Cache-Nonce: (\w+)\nstream key: \w+\n(\w+) (\w+) (\w+)\n```/.exec(
      text,
    )!
  const [path, want, authorization, answerNonce, length, frame, tag] = example.slice(1)
  const key = createSecretKey(keyText, 'utf8')

  const request = { method: 'POST', path: path!, publisher: 'edge-a', body: Buffer.from(want!, 'hex') }
  const signature = parseSignature(authorization!)!
  expect(signatureHolds(key, request, signature)).toBe(true)
  expect(signRequest(key, request, signature)).toBe(authorization)
  expect(decodeDigestMessage(request.body, { maxBitCount: 64 })).toEqual({ kind: 'want', have: undefined })

  const bytes = Buffer.from(frame!, 'hex')
  expect(Buffer.from(new FrameMac(key, signature.nonce, answerNonce!).tag(bytes)).toString('hex')).toBe(tag)
  expect(Number.parseInt(length!, 16)).toBe(bytes.length + tag!.length / 2)
  expect(decodeDigestMessage(bytes, { maxBitCount: 64 })).toMatchObject({ kind: 'goodbye' })
})
