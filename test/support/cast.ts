import type { AgentAnswer } from '../../shared/contract/agents.ts'
import type { SignedIn } from '../../shared/contract/auth.ts'
import type { MonitorAnswer } from '../../shared/contract/monitors.ts'
import type { UserRole } from '../../shared/contract/permissions.ts'
import type { TestApi } from './api.ts'

export const PASSWORD = 'a garden of nine lamps'

export interface Person {
  id: string
  email: string
  organizationId: string
  jwt: string
}

/** Who plays in the tests of the API. All came by the API itself. */
export interface Cast {
  /** Owns the organization. */
  alice: Person
  /** A member of Alice's organization, by her invitation. */
  bob: Person
  /** A stranger, who owns an organization of his own. */
  charlie: Person
  /** An http monitor of Alice's; the agent may report it. */
  monitor: MonitorAnswer
  /** A push monitor of Alice's; `pushPath` is the path of its push URL. */
  pushMonitor: MonitorAnswer & { pushPath: string }
  /** An agent of Alice's with a key for `monitor`. */
  agent: AgentAnswer & { apiKey: string }
}

/** The body of an answer that must be a success; its type is the one that the route promises. */
async function expectOk<T>(api: TestApi, method: string, path: string, jwt: string | null, json: unknown): Promise<T> {
  const { status, body } = await api.call(method, path, { json, ...(jwt === null ? {} : { as: jwt }) })
  if (status >= 300) throw new Error(`${method} ${path} answered ${status}: ${JSON.stringify(body)}`)
  return body as T
}

function toPerson({ jwt, user, organization }: SignedIn): Person {
  return { id: user.id, email: user.email, organizationId: organization.id, jwt }
}

/** Signs a new person up as the owner of a new organization. */
export async function signUp(api: TestApi, name: string): Promise<Person> {
  const email = `${name.toLowerCase()}@example.com`
  const body = { organizationName: `${name}'s`, name, email, password: PASSWORD }
  return toPerson(await expectOk<SignedIn>(api, 'POST', '/v1/auth/signup', null, body))
}

/** Invites to the organization of whoever has the JWT; returns the token of the link, which is shown where no mail is sent. */
export async function invite(api: TestApi, jwt: string, email: string, role: UserRole = 'member'): Promise<string> {
  const made = await expectOk<{ url: string }>(api, 'POST', '/v1/team/invitations', jwt, { email, role })
  return new URL(made.url).pathname.replace('/invitations/', '')
}

/** A new person who joins the organization of whoever has the JWT. */
export async function join(api: TestApi, jwt: string, name: string, role: UserRole = 'member'): Promise<Person> {
  const token = await invite(api, jwt, `${name.toLowerCase()}@example.com`, role)
  const path = `/v1/invitations/${token}/accept`
  return toPerson(await expectOk<SignedIn>(api, 'POST', path, null, { name, password: PASSWORD }))
}

/** Makes a monitor by the API. */
export function createMonitor(api: TestApi, jwt: string, fields: Record<string, unknown>): Promise<MonitorAnswer> {
  return expectOk<MonitorAnswer>(api, 'POST', '/v1/monitors', jwt, { intervalSeconds: 60, ...fields })
}

/** Makes an agent, or by `kind` a service, by the API. */
export function createAgent(
  api: TestApi,
  jwt: string,
  fields: Record<string, unknown>
): Promise<AgentAnswer & { apiKey: string }> {
  return expectOk(api, 'POST', '/v1/agents', jwt, { kind: 'agent', ...fields })
}

export async function createCast(api: TestApi): Promise<Cast> {
  const [alice, charlie] = await Promise.all([signUp(api, 'Alice'), signUp(api, 'Charlie')])
  const bob = await join(api, alice.jwt, 'Bob')
  const monitor = await createMonitor(api, alice.jwt, {
    name: 'Shop',
    kind: 'http',
    target: 'https://shop.example.com/'
  })
  const pushMonitor = await createMonitor(api, alice.jwt, { name: 'Nightly backup', kind: 'push' })
  const agent = await createAgent(api, alice.jwt, { name: 'Rack 1', monitorIds: [monitor.id] })
  const pushPath = new URL(pushMonitor.pushUrl ?? '').pathname
  return { alice, bob, charlie, monitor, pushMonitor: { ...pushMonitor, pushPath }, agent }
}
