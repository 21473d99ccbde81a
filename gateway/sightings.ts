import type { Database } from '../shared/db.ts'
import type { Log } from '../shared/log.ts'
import { noteAgents } from '../shared/store/agent-monitors.ts'

/**
 * Writes down when agents were last heard of, a batch a second: ten thousand that come back at once must not cost as many
 * statements. What is lost with a killed gateway is written again with the agent's next sign of life.
 */
export interface Sightings {
  /** `version` null: it told none this time. */
  note(agentId: string, version: string | null): void
  stop(): Promise<void>
}

const WRITE_MS = 1000

export function createSightings(db: Database, log: Log, clock: () => number): Sightings {
  let noted = new Map<string, string | null>()

  function note(agentId: string, version: string | null): void {
    noted.set(agentId, version ?? noted.get(agentId) ?? null)
  }

  async function write(): Promise<void> {
    if (noted.size === 0) return
    const sightings = [...noted].map(([agentId, version]) => ({ agentId, version }))
    noted = new Map()
    try {
      await noteAgents(db, sightings, new Date(clock()))
    } catch (error) {
      log.warn({ err: error }, 'the time agents were last seen was not written; trying again')
      for (const { agentId, version } of sightings) note(agentId, noted.get(agentId) ?? version)
    }
  }

  const timer = setInterval(() => void write(), WRITE_MS)
  return {
    note,
    stop: async () => {
      clearInterval(timer)
      await write()
    }
  }
}
