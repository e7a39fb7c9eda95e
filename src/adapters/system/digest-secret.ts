import { createHmac } from 'node:crypto'

/** What keyed digests hash with, and how those who share it call it. */
export interface DigestSecret {
  readonly secret: Uint8Array
  readonly keyId: number
}

/** From the key that the cluster shares, so that it need share no second one (docs/protocol.md, "Hash"). */
export function digestSecretOf(clusterKey: string): DigestSecret {
  const derived = createHmac('sha256', clusterKey).update('digest keys\n').digest()
  return { secret: derived.subarray(0, 16), keyId: derived.readUInt32BE(16) || 1 }
}
