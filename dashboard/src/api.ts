import type { InputOf, OutputOf, Route, Schema } from '../../shared/contract/route.ts'
import type { Routes } from '../../shared/contract/routes.ts'

/** Every route of the contract by "METHOD /path". Only types are taken from it: no schema reaches the browser. */
type ByAddress = {
  [N in keyof Routes as `${Routes[N]['method']} ${Routes[N]['path']}`]: Routes[N]
}
export type Address = keyof ByAddress

type InputFor<R, K extends 'params' | 'query' | 'body'> =
  R extends Record<K, infer S extends Schema> ? { [P in K]: InputOf<S> } : unknown
type Optional<R> = R extends { query: infer S extends Schema }
  ? Record<string, never> extends InputOf<S>
    ? { query?: InputOf<S> }
    : { query: InputOf<S> }
  : unknown

/** What a call takes: the route's own parameters, query and body. */
export type Input<A extends Address> = InputFor<ByAddress[A], 'params'> &
  InputFor<ByAddress[A], 'body'> &
  Optional<ByAddress[A]>

type GoodAnswer<R extends Route> =
  R['answers'] extends Record<infer S, unknown>
    ? S extends 200 | 201 | 202
      ? R['answers'][S] extends { schema: infer B extends Schema }
        ? OutputOf<B>
        : undefined
      : undefined
    : never
export type Answer<A extends Address> = Exclude<GoodAnswer<ByAddress[A]>, undefined>

export interface FieldFault {
  pointer: string
  code: string
  detail: string
}

interface ProblemBody {
  code?: string
  title?: string
  detail?: string
  errors?: FieldFault[]
}

/** A problem that the API answered with, or (`offline`) that it could not be asked. */
export class Problem extends Error {
  readonly status: number
  readonly code: string
  readonly errors: readonly FieldFault[]

  constructor(body: ProblemBody, { status, cause }: { status: number; cause?: unknown }) {
    super(body.detail ?? body.title ?? 'Something went wrong.', { cause })
    this.status = status
    this.code = body.code ?? 'unknown'
    this.errors = body.errors ?? []
  }
}

interface AnyInput {
  params?: Record<string, string>
  query?: Record<string, unknown>
  body?: unknown
}

function addressOf(path: string, { params = {}, query = {} }: AnyInput): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''))
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== '') search.set(name, String(value))
  }
  return search.size === 0 ? filled : `${filled}?${search}`
}

async function send(method: string, path: string, input: AnyInput, signal?: AbortSignal): Promise<Response> {
  try {
    return await fetch(addressOf(path, input), {
      method,
      credentials: 'same-origin',
      ...(signal === undefined ? {} : { signal }),
      ...(input.body === undefined
        ? {}
        : { headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(input.body) })
    })
  } catch (error) {
    if (signal?.aborted) throw error
    throw new Problem(
      { code: 'offline', detail: 'Pulsegate cannot be reached right now.' },
      { status: 0, cause: error }
    )
  }
}

/** What the window is told when the API knows of no session any more: somebody ended it, or its time was over. */
export const SESSION_ENDED = 'session-ended'

/** Calls the API of this page's own origin with the session's cookie. @throws Problem */
export async function call<A extends Address>(
  address: A,
  ...[input, signal]: Record<string, never> extends Input<A>
    ? [input?: Input<A>, signal?: AbortSignal]
    : [input: Input<A>, signal?: AbortSignal]
): Promise<Answer<A>> {
  const [method = '', path = ''] = address.split(' ')
  const response = await send(method, path, (input ?? {}) as AnyInput, signal)
  const isJson = /[/+]json\b/.test(response.headers.get('content-type') ?? '')
  const text = await response.text()
  // What is done later is answered with a type and no body.
  const body: unknown = isJson && text !== '' ? JSON.parse(text) : undefined
  if (!response.ok) {
    const problem = new Problem((body ?? {}) as ProblemBody, { status: response.status })
    if (problem.code === 'unauthorized') globalThis.dispatchEvent(new Event(SESSION_ENDED))
    throw problem
  }
  // The contract's own tests hold the API to this shape.
  return body as Answer<A>
}
