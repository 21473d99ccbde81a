const SENTENCES: Record<string, string> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset by the other side',
  EPIPE: 'connection closed by the other side',
  ENOTFOUND: 'no such host name',
  EAI_AGAIN: 'name look-up failed',
  ETIMEDOUT: 'connection timed out',
  EHOSTUNREACH: 'host unreachable',
  ENETUNREACH: 'network unreachable',
  EADDRNOTAVAIL: 'address not available',
  CERT_HAS_EXPIRED: 'TLS: the certificate has expired',
  CERT_NOT_YET_VALID: 'TLS: the certificate is not valid yet',
  CERT_REVOKED: 'TLS: the certificate is revoked',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'TLS: the certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'TLS: the certificate is signed by an unknown authority',
  UNABLE_TO_GET_ISSUER_CERT: 'TLS: the certificate is signed by an unknown authority',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'TLS: the certificate is signed by an unknown authority',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'TLS: the certificate is signed by an unknown authority',
  ERR_TLS_CERT_ALTNAME_INVALID: 'TLS: the certificate is for another host name',
  HPE_HEADER_OVERFLOW: 'the headers of the answer are too large'
}

/** Reasons of OpenSSL that have better words than its own. */
const TLS_REASONS: Record<string, string> = {
  'wrong version number': 'the other side does not speak TLS here',
  'packet length too long': 'the other side does not speak TLS here',
  'unsupported protocol': 'the other side speaks no version of TLS that is still safe',
  'tlsv1 alert protocol version': 'the other side speaks no version of TLS that is still safe'
}

/** `…error:0A00010B:SSL routines:ssl3_get_record:wrong version number:../deps/…` */
const OPENSSL_TEXT = /error:[0-9A-F]+:SSL routines:[^:]*:([^:]+)/

/** The error's own code, or that of the last address tried. */
function codeOf(error: Error): string {
  const { code } = error as NodeJS.ErrnoException
  if (code !== undefined) return code
  const last = error instanceof AggregateError ? error.errors.at(-1) : undefined
  return last instanceof Error ? codeOf(last) : ''
}

/** A few plain words on why a connection or a request failed; the original text where no better one is known. */
export function failureMessage(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const code = codeOf(error)
  const sentence = SENTENCES[code]
  if (sentence !== undefined) return sentence
  const reason = OPENSSL_TEXT.exec(error.message)?.[1]
  if (reason !== undefined) return `TLS: ${TLS_REASONS[reason] ?? reason}`
  if (code.startsWith('HPE_')) return 'the answer is not HTTP'
  return error.message || code || error.name
}

/** Is the other side's certificate signed by someone unknown here? Then a CA file is what is missing. */
export function isUntrusted(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return /SELF_SIGNED|UNABLE_TO_(GET_ISSUER|VERIFY)/.test(codeOf(error))
}
