import type { Transaction } from '../db.ts'
import { BinaryWriter } from './binary-format.ts'

const HEADER = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1')
/** Bytes of a row without its message: field count, eight lengths, and the values. */
const ROW_BYTES = 2 + 8 * 4 + 8 + 8 + 8 + 8 + 16 + 16 + 2

/** The columns of `heartbeats` in the order that COPY and the merge send them. */
const COLUMNS = 'monitor_key, "timestamp", latency, received_at, source_id, organization_id, status, message'

/** Heartbeats in PostgreSQL's binary COPY format (cheaper than text, and far cheaper than an insert). */
export class RowEncoder {
  readonly #writer: BinaryWriter

  /** `rows` and `messageBytes` bound the size. */
  constructor(rows: number, messageBytes: number) {
    this.#writer = new BinaryWriter(HEADER.length + rows * ROW_BYTES + messageBytes + 2)
    this.#writer.raw(HEADER)
  }

  /** Times in epoch ms; latency NaN means null. The source is the one at that place of `sourceIds`; ids as of `uuidBytes`. */
  add(
    monitorKey: number,
    timestamp: number,
    latency: number,
    receivedAt: number,
    sourceIds: Uint8Array,
    source: number,
    organizationId: Uint8Array,
    status: number,
    message: string | undefined
  ): void {
    const writer = this.#writer
    writer.half(8)
    writer.int8(monitorKey)
    writer.timestamptz(timestamp)
    if (Number.isNaN(latency)) writer.nothing()
    else writer.float8(latency)
    writer.timestamptz(receivedAt)
    writer.uuid(sourceIds, source)
    writer.uuid(organizationId)
    writer.int2(status)
    if (message === undefined) writer.nothing()
    else writer.text(message)
  }

  /** The whole stream, with its end. */
  finish(): Buffer {
    this.#writer.half(-1)
    return this.#writer.finish()
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
