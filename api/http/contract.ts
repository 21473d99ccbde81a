import type { IncomingMessage } from 'node:http'
import type { PermissionOfKeys } from '../../shared/contract/permissions.ts'
import type { Auth, InputOf, OutputOf, Route, Schema } from '../../shared/contract/route.ts'
import type { RouteName, Routes } from '../../shared/contract/routes.ts'
import type { Log } from '../../shared/log.ts'
import type { KeyPrincipal, UserPrincipal } from './authenticate.ts'

type Parsed<R, K extends 'params' | 'query' | 'body'> =
  R extends Record<K, infer S extends Schema> ? OutputOf<S> : undefined

type PrincipalOf<A extends Auth> = A extends 'none'
  ? undefined
  : A extends PermissionOfKeys
    ? UserPrincipal | KeyPrincipal
    : UserPrincipal

/** What a handler gets: everything checked by the contract, so it has types and not checks. */
export interface Call<R extends Route> {
  readonly params: Parsed<R, 'params'>
  readonly query: Parsed<R, 'query'>
  readonly body: R extends { itemwise: true } ? unknown : Parsed<R, 'body'>
  readonly principal: PrincipalOf<R['auth']>
  /** For what the contract cannot say: the raw body of a push, its Accept header. */
  readonly request: IncomingMessage
  /** Address of the client, as far as it is known. */
  readonly address: string
  /** Of the answer's `instance` and of the audit trail. */
  readonly requestId: string
  readonly log: Log
}

/** `text` goes out as it is, as text/plain unless a header says otherwise. */
type BodyOf<A> = A extends { schema: infer S extends Schema } ? { body: InputOf<S> } : { body?: never }

/** An answer that the contract allows. A `stream` names its type in its headers. */
export type Reply<R extends Route> = {
  [S in keyof R['answers']]: { status: S; headers?: Readonly<Record<string, string | readonly string[]>> } & (
    | BodyOf<R['answers'][S]>
    | { text: string }
    | (R['answers'][S] extends { streams: readonly string[] } ? { stream: AsyncIterable<string> } : never)
  )
}[keyof R['answers']]

export type Handler<N extends RouteName> = (call: Call<Routes[N]>) => Promise<Reply<Routes[N]>> | Reply<Routes[N]>
/** One for each route of the contract: a missing one does not compile. */
export type Handlers = { [N in RouteName]: Handler<N> }
