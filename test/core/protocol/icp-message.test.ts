import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  decodeIcpMessage,
  encodeIcpMessage,
  icpMessageBytes,
  type IcpOpcode,
} from '../../../src/core/protocol/icp-message.ts'
import { MalformedMessageError } from '../../../src/core/protocol/malformed-message-error.ts'

const bytesOf = (hex: string): Uint8Array => Uint8Array.from(Buffer.from(hex, 'hex'))

test('RFC 2186 §2: a query is a 20-byte header, the requester’s address, and the URL with its NUL', () => {
  const message = encodeIcpMessage({ opcode: 'query', requestNumber: 0x0102_0304, url: 'http://a/' })
  expect(Buffer.from(message).toString('hex')).toBe(
    ['01020022', '01020304', '00000000', '00000000', '00000000', '00000000', '687474703a2f2f612f00'].join(''),
  )
  expect(message).toHaveLength(icpMessageBytes('query', 'http://a/'))
})

test('the paper’s query of a 50-byte URL costs 70 bytes and the two that the format adds', () => {
  // Summary Cache counts 20 bytes of header and 50 of URL; RFC 2186 adds four of address and one of NUL.
  expect(icpMessageBytes('query', 'x'.repeat(50))).toBe(70 + 4 + 1)
  expect(icpMessageBytes('miss', 'x'.repeat(50))).toBe(70 + 1)
})

test('what is encoded is decoded again, and its size is the one foretold', () => {
  const url = fc.string({
    unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
    maxLength: 200,
  })
  fc.assert(
    fc.property(
      fc.constantFrom<IcpOpcode>('query', 'hit', 'miss'),
      fc.nat(0xffff_ffff),
      url,
      (opcode, requestNumber, text) => {
        const bytes = encodeIcpMessage({ opcode, requestNumber, url: text })
        expect(bytes).toHaveLength(icpMessageBytes(opcode, text))
        expect(decodeIcpMessage(bytes)).toEqual({ opcode, requestNumber, url: text })
      },
    ),
  )
})

test.each([
  ['no URL and no NUL', '010200180000000100000000000000000000000000000000'],
  ['a URL without its NUL', '0102001c000000010000000000000000000000000000000068747470'],
  ['a length beyond the datagram', '0102ffff0000000100000000000000000000000000000000687474703a2f2f612f00'],
  ['a NUL within the URL', '01020022000000010000000000000000000000000000000068747470003a2f2f6100'],
  ['bytes behind the NUL', '010200260000000100000000000000000000000000000000687474703a2f2f612f006a756e6b'],
  ['a length short of the datagram', '010200140000000100000000000000000000000000000000687474703a2f2f612f00'],
  ['two bytes', '0102'],
  ['nothing', ''],
  ['an unknown version', '010900220000000100000000000000000000000000000000687474703a2f2f612f00'],
  ['an unknown opcode', 'ff0200220000000100000000000000000000000000000000687474703a2f2f612f00'],
])('icp-malformed: %s is refused', (_name, hex) => {
  expect(() => decodeIcpMessage(bytesOf(hex))).toThrow(MalformedMessageError)
})

test('arbitrary bytes are decoded or refused, never anything else', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
      try {
        decodeIcpMessage(bytes)
      } catch (error) {
        expect(error).toBeInstanceOf(MalformedMessageError)
      }
    }),
  )
})
