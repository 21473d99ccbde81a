import { randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'

/**
 * API keys: `pga_` (agent) or `pgs_` (service), 32 base62 characters of randomness (190 bits), 6 of CRC-32 over what
 * precedes. The prefix lets people and scanners recognise a leaked key, the checksum lets us refuse a typing error
 * without a look-up.
 */
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const RANDOM_LENGTH = 32
const CHECKSUM_LENGTH = 6
const SHAPE = /^pg[as]_[0-9A-Za-z]{38}$/

export type KeyHolder = 'agent' | 'service'

/** `length` random base62 characters; unbiased. */
export function randomBase62(length: number): string {
  let text = ''
  for (let i = 0; i < length; i++) text += ALPHABET[randomInt(ALPHABET.length)]
  return text
}

function checksum(text: string): string {
  let rest = crc32(text)
  let result = ''
  for (let i = 0; i < CHECKSUM_LENGTH; i++) {
    result = ALPHABET[rest % ALPHABET.length] + result
    rest = Math.floor(rest / ALPHABET.length)
  }
  return result
}

/** A new key; it is shown once and only its digest is stored. */
export function mintApiKey(holder: KeyHolder): string {
  const body = `${holder === 'agent' ? 'pga' : 'pgs'}_${randomBase62(RANDOM_LENGTH)}`
  return body + checksum(body)
}

/** Could this be one of our keys? Shape and checksum only. */
export function looksLikeApiKey(text: string): boolean {
  return SHAPE.test(text) && checksum(text.slice(0, -CHECKSUM_LENGTH)) === text.slice(-CHECKSUM_LENGTH)
}

/** What may be shown of a key later: its first 8 and last 4 characters. */
export function partsToShow(apiKey: string): { prefix: string; suffix: string } {
  return { prefix: apiKey.slice(0, 8), suffix: apiKey.slice(-4) }
}
