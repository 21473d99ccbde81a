import type { TestApi } from './api.ts'

/** Long enough and in no list. */
export const PASSWORD = 'a garden of nine lamps'

export interface Person {
  email: string
  userId: string
  organizationId: string
  jwt: string
}

/** Signs somebody up, with an organization of their own. */
export async function signUp(api: TestApi, name: string): Promise<Person> {
  const email = `${name.toLowerCase()}@example.com`
  const { status, json, text } = await api.call('POST', '/v1/auth/signup', {
    body: { organizationName: `${name}'s`, name, email, password: PASSWORD }
  })
  if (status !== 201) throw new Error(`sign-up failed: ${text}`)
  return { email, userId: json.user.id, organizationId: json.organization.id, jwt: json.jwt }
}

/** Makes a monitor; returns the API's answer. */
export async function addMonitor(api: TestApi, person: Person, fields: object = {}) {
  const { status, json, text } = await api.call('POST', '/v1/monitors', {
    as: person.jwt,
    body: { name: 'Backup', kind: 'heartbeat', ...fields }
  })
  if (status !== 201) throw new Error(`no monitor: ${text}`)
  return json
}

/** Makes a service (or what `fields` say) with a key; returns the API's answer. */
export async function addAgent(api: TestApi, person: Person, fields: object = {}) {
  const { status, json, text } = await api.call('POST', '/v1/agents', {
    as: person.jwt,
    body: { name: 'Cron', kind: 'service', ...fields }
  })
  if (status !== 201) throw new Error(`no agent: ${text}`)
  return json
}
