import type { FetchErrorCode } from './ports.ts'

/** Of an error from the system, TLS or the HTTP client: by its `code`, or its name where it was aborted. */
export function fetchErrorCode(error: unknown): FetchErrorCode {
  const { code, name } = error as { readonly code?: unknown; readonly name?: unknown }
  if (name === 'TimeoutError') return 'http_response_timeout'
  if (name === 'AbortError') return 'cancelled'
  const text = typeof code === 'string' ? code : ''
  return CODES[text] ?? (text.startsWith('EAI_') ? 'dns_error' : TLS.test(text) ? 'tls_error' : 'http_protocol_error')
}

const CODES: Readonly<Record<string, FetchErrorCode>> = {
  ABORT_ERR: 'cancelled',
  UND_ERR_ABORTED: 'cancelled',
  ENOTFOUND: 'dns_error',
  UND_ERR_HEADERS_TIMEOUT: 'http_response_timeout',
  UND_ERR_BODY_TIMEOUT: 'http_response_timeout',
  UND_ERR_CONNECT_TIMEOUT: 'connection_timeout',
  ETIMEDOUT: 'connection_timeout',
  EHOSTUNREACH: 'connection_timeout',
  ENETUNREACH: 'connection_timeout',
  ECONNREFUSED: 'connection_refused',
  UND_ERR_SOCKET: 'connection_terminated',
  ECONNRESET: 'connection_terminated',
  EPIPE: 'connection_terminated',
}

// Node's and OpenSSL's: ERR_TLS_CERT_ALTNAME_INVALID, CERT_HAS_EXPIRED, DEPTH_ZERO_SELF_SIGNED_CERT,
// UNABLE_TO_VERIFY_LEAF_SIGNATURE, ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED, EPROTO, ...
const TLS = /^ERR_(?:TLS|SSL)_|CERT|SIGN|^EPROTO$/
