import { AppError } from '../../shared/errors.ts'

/** An opaque place in a list: base64url of its parts, joined by dots. */
export function writeCursor(...parts: Array<string | number>): string {
  return Buffer.from(parts.join('.')).toString('base64url')
}

/** The parts, when they look as `shape` says; null for no cursor. @throws AppError invalid_cursor */
export function readCursor(cursor: string | undefined, shape: RegExp): string[] | null {
  if (cursor === undefined) return null
  const text = Buffer.from(cursor, 'base64url').toString('utf8')
  if (!shape.test(text))
    throw new AppError('invalid_cursor', { detail: 'Use nextCursor of the page before, unchanged.' })
  return text.split('.')
}

export const UUID_CURSOR = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** One row more than asked for was read: whether it is there says if there is a next page. */
export function cutPage<T>(
  rows: T[],
  limit: number,
  cursorOf: (last: T) => string
): { page: T[]; nextCursor: string | null } {
  const page = rows.slice(0, limit)
  const last = page.at(-1)
  return { page, nextCursor: rows.length > limit && last !== undefined ? cursorOf(last) : null }
}
