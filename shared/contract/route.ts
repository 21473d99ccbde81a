import type { z } from 'zod'
import type { ErrorCode } from '../protocol/errors.ts'
import type { Permission } from './permissions.ts'

/** Any schema of this folder, for those who only apply it. */
export type Schema = z.ZodType
export type InputOf<S extends Schema> = z.input<S>
export type OutputOf<S extends Schema> = z.output<S>
/** One fault that a schema found. */
export type SchemaIssue = z.core.$ZodIssue

/** Who may call: anybody, or who has this permission. */
export type Auth = 'none' | Permission

export interface Answer {
  readonly description: string
  /** Absent: no body. */
  readonly schema?: z.ZodType
  /** `application/json` when absent. */
  readonly contentType?: string
  /** Other types of it, which are sent as a stream. */
  readonly streams?: readonly string[]
}

/** One address of the HTTP API. The application is mounted from these and the documents are generated from them. */
export interface Route {
  /** `ANY`: every method, HEAD and OPTIONS included. */
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE' | 'ANY'
  /** `{name}` stands for one segment. Paths below /v1 answer below /api/v1 as well. */
  readonly path: `/${string}`
  readonly auth: Auth
  /** The person of a session must have shown who they are within the last ten minutes. */
  readonly recent?: true
  readonly tag:
    | 'Sign-in'
    | 'Account'
    | 'Organization'
    | 'Team'
    | 'Single sign-on'
    | 'Audit'
    | 'Monitors'
    | 'Agents'
    | 'Heartbeats'
    | 'Push URLs'
    | 'Alerts'
    | 'Maintenance'
    | 'Installation'
  readonly summary: string
  readonly description?: string
  /** A segment that does not fit is answered as 404. */
  readonly params?: z.ZodObject
  readonly query?: z.ZodObject
  readonly body?: z.ZodType
  /** No body is taken as `{}`. */
  readonly bodyOptional?: true
  /** The body's schema is only documented: the handler checks items one by one. */
  readonly itemwise?: true
  /** Requests that no limit counts, or that the handler counts itself because its refusals have a shape of their own. */
  readonly counted?: 'not' | 'by handler'
  /** Bytes; 64 KiB when absent. */
  readonly bodyLimit?: number
  readonly answers: Readonly<Record<number, Answer>>
  /** Problems particular to this route; those that follow from auth, params and body are added. */
  readonly problems?: readonly ErrorCode[]
}

/** Largest body of a request, in bytes, unless the route says otherwise. */
export const BODY_LIMIT = 65_536

/** For changes that have nothing to show. */
export const DONE_ANSWER = { 204: { description: 'Done.' } } as const
