import type { Transaction } from '../db.ts'

/** Epoch ms of 2000-01-01, from which PostgreSQL counts timestamps (in microseconds). */
const POSTGRES_EPOCH_MS = 946_684_800_000
const HEADER = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1')
/** Bytes of a row without its message: field count, eight lengths, and the values. */
const ROW_BYTES = 2 + 8 * 4 + 8 + 8 + 8 + 8 + 16 + 16 + 2
const TWO_TO_32 = 2 ** 32

/** The 16 bytes of a UUID in its usual form. */
export function uuidBytes(uuid: string): Buffer {
  return Buffer.from(uuid.replaceAll('-', ''), 'hex')
}

/** The columns of `heartbeats` in the order that COPY and the merge send them. */
const COLUMNS = 'monitor_key, "timestamp", latency, received_at, source_id, organization_id, status, message'

function writeInt64(into: Buffer, value: number, at: number): void {
  const high = Math.floor(value / TWO_TO_32)
  into.writeInt32BE(high, at)
  into.writeUInt32BE(value - high * TWO_TO_32, at + 4)
}

/**
 * Heartbeats in PostgreSQL's binary COPY format. Written by hand because it is the hot path: one buffer, no object per row
 * (binary COPY is cheaper than text, and far cheaper than an insert).
 */
export class RowEncoder {
  #buffer: Buffer
  #at: number

  /** `rows` and `messageBytes` bound the size. */
  constructor(rows: number, messageBytes: number) {
    this.#buffer = Buffer.allocUnsafe(HEADER.length + rows * ROW_BYTES + messageBytes + 2)
    this.#at = HEADER.copy(this.#buffer)
  }

  /** Times in epoch ms; latency NaN means null. Ids as 16 bytes. */
  add(
    monitorKey: number,
    timestamp: number,
    latency: number,
    receivedAt: number,
    sourceId: Buffer,
    organizationId: Buffer,
    status: number,
    message: string | undefined
  ): void {
    this.#buffer.writeInt16BE(8, this.#at)
    this.#at += 2
    this.#int64(monitorKey)
    this.#int64((timestamp - POSTGRES_EPOCH_MS) * 1000)
    this.#latency(latency)
    this.#int64((receivedAt - POSTGRES_EPOCH_MS) * 1000)
    this.#uuid(sourceId)
    this.#uuid(organizationId)
    this.#buffer.writeInt32BE(2, this.#at)
    this.#buffer.writeInt16BE(status, this.#at + 4)
    this.#at += 6
    this.#message(message)
  }

  #int64(value: number): void {
    this.#buffer.writeInt32BE(8, this.#at)
    writeInt64(this.#buffer, value, this.#at + 4)
    this.#at += 12
  }

  #latency(latency: number): void {
    if (Number.isNaN(latency)) {
      this.#at = this.#buffer.writeInt32BE(-1, this.#at)
      return
    }
    this.#buffer.writeInt32BE(8, this.#at)
    this.#at = this.#buffer.writeDoubleBE(latency, this.#at + 4)
  }

  #uuid(bytes: Buffer): void {
    this.#buffer.writeInt32BE(16, this.#at)
    this.#at += 4 + bytes.copy(this.#buffer, this.#at + 4)
  }

  #message(message: string | undefined): void {
    if (message === undefined) {
      this.#at = this.#buffer.writeInt32BE(-1, this.#at)
      return
    }
    const length = this.#buffer.write(message, this.#at + 4, 'utf8')
    this.#buffer.writeInt32BE(length, this.#at)
    this.#at += 4 + length
  }

  /** The whole stream, with its end. */
  finish(): Buffer {
    this.#at = this.#buffer.writeInt16BE(-1, this.#at)
    return this.#buffer.subarray(0, this.#at)
  }
}

/**
 * System-wide. Appends rows that must all be new; fails with 23505 as a whole when one is there already.
 * COPY writes many rows at a time, `on conflict` one by one, so this is tried first.
 */
export async function copyHeartbeats(tx: Transaction, rows: Buffer): Promise<void> {
  await tx.copyIn(`copy heartbeats (${COLUMNS}) from stdin (format binary)`, rows)
}

/** The same rows when some may be there already: through a table of the transaction, the first of each identity is kept. */
export async function mergeHeartbeats(tx: Transaction, rows: Buffer): Promise<void> {
  await tx.query('create temp table incoming (like heartbeats, n bigint generated always as identity) on commit drop')
  await tx.copyIn(`copy incoming (${COLUMNS}) from stdin (format binary)`, rows)
  await tx.query(
    `insert into heartbeats (${COLUMNS}) select ${COLUMNS} from incoming order by n on conflict do nothing`
  )
}
