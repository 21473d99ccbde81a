/** A heartbeat, as far as it matters here. */
interface Beat {
  readonly monitorId: string
}

const SECOND_MS = 1000

/** Lets the newest heartbeat of each monitor and second through. */
export class Thinning {
  /** When a heartbeat of the monitor last passed, monotonic. */
  readonly #passed = new Map<string, number>()
  readonly #waiting = new Map<string, Beat>()

  /** May it pass now? If not it waits for the end of the second, unless a newer one comes. */
  passes(beat: Beat): boolean {
    const now = performance.now()
    const last = this.#passed.get(beat.monitorId)
    if (last !== undefined && now - last < SECOND_MS) {
      this.#waiting.set(beat.monitorId, beat)
      return false
    }
    this.#waiting.delete(beat.monitorId)
    this.#passed.set(beat.monitorId, now)
    return true
  }

  /** Those whose second is over. */
  due(): Beat[] {
    const now = performance.now()
    const ready = [...this.#waiting.values()].filter(
      ({ monitorId }) => now - (this.#passed.get(monitorId) ?? 0) >= SECOND_MS
    )
    for (const { monitorId } of ready) {
      this.#waiting.delete(monitorId)
      this.#passed.set(monitorId, now)
    }
    for (const [monitorId, last] of this.#passed) if (now - last >= SECOND_MS) this.#passed.delete(monitorId)
    return ready
  }
}
