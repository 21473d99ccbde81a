import type { CountedLimit, Counts } from '../../shared/counts.ts'

/** What may be guessed or abused by who is not signed in, besides passwords. */
export type Asked = 'refresh' | 'forgot' | 'reset' | 'invitation' | 'sso'

/** Requests in a minute. */
export interface Limits {
  /** Of one network, whoever is behind it. */
  network: CountedLimit
  /** Of one person, agent or service, whatever credential is shown. */
  caller: CountedLimit
  /** Of one organization. */
  organization: CountedLimit
  /** Of one push URL. */
  push: CountedLimit
  /** Of one network, each. */
  asked: Record<Asked, CountedLimit>
}

/** The table of limits; `scale` multiplies each of them. */
export function createLimits(counts: Counts, scale: number): Limits {
  const limit = (name: string, points: number) => counts.limit(name, Math.ceil(points * scale))
  return {
    network: limit('address', 12_000),
    caller: limit('caller', 6000),
    organization: limit('organization', 60_000),
    push: limit('push-url', 600),
    asked: {
      refresh: limit('refresh', 120),
      forgot: limit('forgot', 10),
      reset: limit('reset', 30),
      invitation: limit('invitation', 60),
      sso: limit('sso', 120)
    }
  }
}
