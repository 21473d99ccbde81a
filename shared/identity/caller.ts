/** Who reports: everything that the ingest door asks of a caller, whatever the way in. */
export interface Caller {
  readonly kind: 'agent' | 'service' | 'user' | 'push'
  /** Part of a heartbeat's identity: id of the agent, service, user or push URL, never of a key. */
  readonly sourceId: string
  readonly organizationId: string
  readonly plan: string
  readonly suspended: boolean
  readonly scopes: ReadonlySet<string>
  /** The key that was shown, for agents and services. */
  readonly keyId: string | null
  /** Public monitor id → internal key: the monitors that this caller may report. */
  readonly monitors: ReadonlyMap<string, number>
}

/** May this caller bring heartbeats in at all? Which monitors is another question. */
export function mayReport(caller: Caller): boolean {
  return !caller.suspended && caller.scopes.has('heartbeats:write')
}
