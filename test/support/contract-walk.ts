import { z } from 'zod'
import { mayRole, type Permission, scopeOf, type UserRole } from '../../shared/contract/permissions.ts'
import type { Route } from '../../shared/contract/route.ts'
import { ROUTES, type RouteName } from '../../shared/contract/routes.ts'

/** A route that is for somebody. */
export type GuardedRoute = Route & { readonly auth: Permission }

const ALL = Object.entries(ROUTES) as Array<[RouteName, Route]>

export const GUARDED = ALL.filter((entry): entry is [RouteName, GuardedRoute] => entry[1].auth !== 'none')
export const PUBLIC = ALL.filter(([, { auth }]) => auth === 'none')

const ANY_ID = '01890000-0000-7000-8000-000000000000'

/** Names of a path's or query's parameters that hold an id. */
export function idsOf(schema: z.ZodObject | undefined): string[] {
  return Object.entries(schema?.shape ?? {}).flatMap(([name, field]) => {
    const isId = z.safeParse(field, ANY_ID).success && !z.safeParse(field, 'word').success
    return isId && !z.safeParse(field, undefined).success ? [name] : []
  })
}

/** Does the route name something of somebody by its id? */
export function namesSomething({ params, query }: Route): boolean {
  return idsOf(params).length + idsOf(query).length > 0
}

/** A word that a parameter takes, for those that hold no id. */
function wordFor(route: Route, name: string): string {
  const field = route.params?.shape[name]
  if (field instanceof z.ZodEnum) return String(field.options[0])
  throw new Error(`${route.path}: the walk knows no value for {${name}}`)
}

/** `{id}` of /v1/agents/{id} is one of the `agents`, `monitorId` of a query one of the `monitors`. */
export type Things = Readonly<Record<string, string>>

/** The address of a route, each id in it taken from `things`. @throws when it names what `things` does not hold. */
export function addressOf(route: Route, things: Things): string {
  const take = (collection: string): string => {
    const id = things[collection]
    if (id === undefined) throw new Error(`${route.path}: give the walk one of the ${collection}`)
    return id
  }
  const ids = idsOf(route.params)
  const path = route.path.replaceAll(/([^/{}]+)\/\{(\w+)\}/g, (_all, collection: string, name: string) => {
    return `${collection}/${ids.includes(name) ? take(collection) : wordFor(route, name)}`
  })
  const query = idsOf(route.query).map((name) => `${name}=${take(`${name.replace(/Id$/, '')}s`)}`)
  return query.length === 0 ? path : `${path}?${query.join('&')}`
}

/** What stands in the answer to somebody who may not. */
export interface Refusal {
  status: number
  code: string
}

const FORBIDDEN = { status: 403, code: 'forbidden' }

/** By the table of permissions: how people of this role are refused, or null. */
export function refusalOfRole(route: GuardedRoute, role: UserRole): Refusal | null {
  return mayRole(role, route.auth) ? null : FORBIDDEN
}

/** By the table of permissions: how a key with these scopes is refused, or null. */
export function refusalOfKey(route: GuardedRoute, scopes: readonly string[]): Refusal | null {
  const scope = scopeOf(route.auth)
  if (scope === null) return FORBIDDEN
  return scopes.includes(scope) ? null : { status: 403, code: 'insufficient_scope' }
}
