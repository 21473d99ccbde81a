import { z } from 'zod'
import { parseTimestamp } from '../protocol/timestamp.ts'

const NUL = '\u0000'

/** One line of text for people, trimmed. PostgreSQL cannot store U+0000. */
export function nameField(maxLength: number): z.ZodString {
  return z
    .string()
    .trim()
    .min(1)
    .max(maxLength)
    .refine((text) => !text.includes(NUL), 'must not contain U+0000')
}

export const idField = z.uuid().meta({ description: 'UUIDv7.' })

/** A time in an answer. */
export const timeField = z.string().meta({ format: 'date-time', examples: ['2026-11-21T10:00:00.000Z'] })

/** A time in a request: ISO 8601 in UTC. */
export const timeQuery = z
  .string()
  .refine(
    (text) => !Number.isNaN(parseTimestamp(text)),
    'must be an ISO 8601 time in UTC, such as 2026-11-21T10:00:00.000Z'
  )
  .meta({ format: 'date-time' })

/** Most entries of one page of a list. */
export const MAX_PAGE = 1000
export const limitQuery = z.coerce.number().int().min(1).max(MAX_PAGE).default(100)
export const cursorQuery = z.string().max(500).optional().meta({ description: 'nextCursor of the page before.' })

export const pageQuerySchema = z.strictObject({ limit: limitQuery, cursor: cursorQuery })
export type PageQuery = z.output<typeof pageQuerySchema>

export const idParamsSchema = z.object({ id: z.uuid() })

export const nextCursorField = z.string().nullable().meta({ description: 'Null at the end.' })

/** RFC 9457 with our extensions. */
export const problemSchema = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.number().int(),
    code: z.string().meta({ description: 'Stable; the title may change.' }),
    detail: z.string().optional(),
    instance: z.string().optional().meta({ description: 'urn:uuid: and the request id.' }),
    errors: z
      .array(
        z.object({
          pointer: z.string().meta({ description: 'JSON Pointer into the body, or ?name for a query parameter.' }),
          code: z.string(),
          detail: z.string()
        })
      )
      .optional()
  })
  .meta({ id: 'Problem' })
