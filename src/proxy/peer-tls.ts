/** What a proxy shows to its peers over TLS, and whom it believes. PEM. */
export interface PeerTls {
  readonly certificate: string
  /** Of the certificate: a secret. */
  readonly key: string
  /** Who has signed the certificates of the cluster. */
  readonly ca: string
}
