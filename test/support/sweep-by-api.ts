import { type Answer, apiFor } from './api.ts'
import { signUp } from './cast.ts'
import type { TearsDown } from './database.ts'
import type { SweepScene } from './sweep.ts'

export interface SignedIn {
  call(method: string, path: string, json?: object): Promise<Answer>
  /** Moves the clock of the API to this second of the scene. */
  moveTo(second: number): void
}

/** An API on the scene's clock, called by an owner of the scene's organization. */
export async function signedInFor(t: TearsDown, scene: SweepScene): Promise<SignedIn> {
  const { stores, tenant, at } = scene
  let now = at(0)
  // Under a prefix of its own it is no door that would hold the sweep back.
  const api = await apiFor(t, { ...stores, prefix: `${stores.prefix}:api` }, { clock: () => now })
  const person = await signUp(api, 'Alice')
  await stores.db.query('insert into memberships (organization_id, user_id, role) values ($1, $2, $3)', [
    tenant.organizationId,
    person.id,
    'owner'
  ])
  const { body } = await api.call('POST', '/v1/auth/switch', {
    as: person.jwt,
    json: { organizationId: tenant.organizationId }
  })
  const { jwt } = body as { jwt: string }
  return {
    call: (method, path, json) => api.call(method, path, { as: jwt, ...(json === undefined ? {} : { json }) }),
    moveTo: (second) => {
      now = at(second)
    }
  }
}
