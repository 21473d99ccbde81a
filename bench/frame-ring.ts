/**
 * Ready-made, masked WebSocket frames of one connection, in one buffer. Only digits change between two uses of a slot, and
 * the masking key is zero, so that the payload can be patched where it lies: writing a frame costs a few stores and no
 * allocation. A slot is free again when its frame has been acknowledged, since only then is it certain to have left.
 */
export interface FrameRing {
  readonly bytes: Buffer
  readonly frameBytes: number
  readonly slots: number
  /** Puts sequence number and times into the slot of `seq`; returns the slot. `now` is epoch milliseconds. */
  patch(seq: number, now: number): number
}

/** Every sequence number has nine digits, so that all frames of a ring have one length. */
export const FIRST_SEQ = 100_000_001

const ZERO = 48
const SEQ_DIGITS = 9
const BLANK_TIME = '2000-01-01T00:00:00.000Z'
const BLANK_ID = '00000000-0000-0000-0000-000000000000'

function header(length: number, opcode: number): Buffer {
  const masked = 0x80
  if (length < 126) return Buffer.from([masked | opcode, masked | length, 0, 0, 0, 0])
  if (length > 0xffff) throw new Error('a bench frame is longer than 65,535 bytes')
  return Buffer.from([masked | opcode, masked | 126, length >> 8, length & 0xff, 0, 0, 0, 0])
}

/** A whole client frame around `payload`, masked with zeroes. */
export function clientFrame(payload: Buffer, opcode = 1): Buffer {
  return Buffer.concat([header(payload.length, opcode), payload])
}

function template(monitorIds: readonly string[]): Buffer {
  const items = monitorIds.map(
    (monitorId) => `{"monitorId":"${monitorId}","status":"up","latency":23.5,"timestamp":"${BLANK_TIME}"}`
  )
  const seq = '1'.repeat(SEQ_DIGITS)
  return clientFrame(
    Buffer.from(`{"type":"heartbeats","seq":${seq},"sentAt":"${BLANK_TIME}","items":[${items.join(',')}]}`)
  )
}

function greatestDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestDivisor(b, a % b)
}

/** Enough slots for the window, and so many that a slot always carries the same monitors. */
function slotCount(window: number, items: number, monitors: number): number {
  const period = monitors / greatestDivisor(monitors, items)
  return Math.ceil(window / period) * period
}

let secondShown = -1
const secondText = Buffer.from('2000-01-01T00:00:00.')

function writeTime(bytes: Buffer, at: number, epochMs: number): void {
  const second = Math.floor(epochMs / 1000)
  if (second !== secondShown) {
    secondText.write(new Date(second * 1000).toISOString().slice(0, 20), 'latin1')
    secondShown = second
  }
  for (let i = 0; i < 20; i++) bytes[at + i] = secondText[i] as number
  const ms = epochMs - second * 1000
  bytes[at + 20] = ZERO + Math.floor(ms / 100)
  bytes[at + 21] = ZERO + (Math.floor(ms / 10) % 10)
  bytes[at + 22] = ZERO + (ms % 10)
}

function writeSeq(bytes: Buffer, at: number, seq: number): void {
  let rest = seq
  for (let i = SEQ_DIGITS - 1; i >= 0; i--) {
    const tenth = Math.floor(rest / 10)
    bytes[at + i] = ZERO + rest - tenth * 10
    rest = tenth
  }
}

export function createFrameRing(monitorIds: readonly string[], window: number, itemsPerFrame: number): FrameRing {
  const slots = slotCount(window, itemsPerFrame, monitorIds.length)
  const blank = template(Array.from({ length: itemsPerFrame }, () => BLANK_ID))
  const frameBytes = blank.length
  const bytes = Buffer.alloc(slots * frameBytes)
  const monitorOf = new Uint16Array(slots * itemsPerFrame)
  for (let slot = 0; slot < slots; slot++) {
    const picks = Array.from({ length: itemsPerFrame }, (_, item) => (slot * itemsPerFrame + item) % monitorIds.length)
    monitorOf.set(picks, slot * itemsPerFrame)
    template(picks.map((pick) => monitorIds[pick] as string)).copy(bytes, slot * frameBytes)
  }
  const seqAt = blank.indexOf('1'.repeat(SEQ_DIGITS))
  const [sentAt, ...timesAt] = positionsOf(blank, BLANK_TIME)
  const lastTimes = new Float64Array(monitorIds.length)

  function patch(seq: number, now: number): number {
    const slot = seq % slots
    const start = slot * frameBytes
    writeSeq(bytes, start + seqAt, seq)
    writeTime(bytes, start + (sentAt as number), now)
    for (let item = 0; item < itemsPerFrame; item++) {
      const monitor = monitorOf[slot * itemsPerFrame + item] as number
      // Two heartbeats of a monitor must not share a millisecond: they would be one and the same (design, identity).
      const time = Math.max(now, (lastTimes[monitor] as number) + 1)
      lastTimes[monitor] = time
      writeTime(bytes, start + (timesAt[item] as number), time)
    }
    return slot
  }
  return { bytes, frameBytes, slots, patch }
}

function positionsOf(bytes: Buffer, text: string): number[] {
  const found: number[] = []
  for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + 1)) found.push(at)
  return found
}
