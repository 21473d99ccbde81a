import { PERSONAL_TENANT, type SsoProvider } from '../../../shared/contract/sso.ts'
import { AppError } from '../../../shared/errors.ts'
import type { IdentityKey } from '../../../shared/store/identities.ts'
import { normalizeEmail } from '../email.ts'
import type { Claims } from './providers.ts'

/** A person as the provider describes them, with a tenant that has been checked. */
export interface Identity extends IdentityKey {
  name: string | null
  /** Normalized. Never a key to an account. */
  email: string | null
  /** Does the provider vouch that the address is the person's? Null: it says nothing of that. */
  emailVerified: boolean | null
  /** When the person proved who they are, where the provider tells; epoch ms. */
  authenticatedAt: number | null
}

interface Expected {
  provider: SsoProvider
  /** Tenants that may answer; null: any. */
  tenants: readonly string[] | null
  /** Entra's authority. */
  authority: string
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** OpenID Connect §2: a subject is at most 255 characters of ASCII. */
const SUBJECT = /^[\x21-\x7e]{1,255}$/
const DOMAIN = /^[a-z\d.-]+$/i
const EMAIL = /^[^\s@\p{Cc}]+@[^\s@\p{Cc}]+$/u

function matching(value: unknown, shape: RegExp): string | null {
  return typeof value === 'string' && value.length <= 255 && shape.test(value) ? value : null
}

/** Entra ID has sent its optional claims as `true`, `1` and `"1"`. */
function flag(value: unknown): boolean | null {
  if (value === undefined || value === null) return null
  return value === true || value === 1 || value === '1' || value === 'true'
}

/** Any tenant of Entra gets its tokens from the same keys, so the tenant is what decides. */
function readEntra({ iss, tid, oid, xms_edov }: Claims, authority: string) {
  const [tenant, subject] = [matching(tid, UUID), matching(oid, UUID)]
  if (tenant === null || subject === null) throw new AppError('sso_failed')
  if (tenant.toLowerCase() === PERSONAL_TENANT) throw new AppError('sso_personal_account')
  if (iss !== `${authority}/${tenant}/v2.0`) throw new AppError('sso_wrong_tenant')
  return { tenant: tenant.toLowerCase(), subject: subject.toLowerCase(), emailVerified: flag(xms_edov) }
}

/** `hd` is there only for accounts that a Workspace manages. */
function readGoogle({ sub, hd, email_verified: verified }: Claims) {
  const domain = matching(hd, DOMAIN)
  if (domain === null) throw new AppError('sso_personal_account')
  const subject = matching(sub, SUBJECT)
  if (subject === null) throw new AppError('sso_failed')
  return { tenant: domain.toLowerCase(), subject, emailVerified: verified === true }
}

/** @throws AppError sso_failed, sso_personal_account, sso_wrong_tenant */
export function readIdentity(claims: Claims, { provider, tenants, authority }: Expected): Identity {
  const known = provider === 'entra' ? readEntra(claims, authority) : readGoogle(claims)
  if (tenants !== null && !tenants.includes(known.tenant)) throw new AppError('sso_wrong_tenant')
  const { auth_time: seconds } = claims
  const email = matching(claims.email, EMAIL)
  return {
    provider,
    ...known,
    name: typeof claims.name === 'string' ? claims.name : null,
    email: email === null ? null : normalizeEmail(email),
    authenticatedAt: typeof seconds === 'number' ? seconds * 1000 : null
  }
}
