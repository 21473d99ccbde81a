/** PostgreSQL's binary COPY format (documentation of COPY, "Binary Format"). */

const SIGNATURE = Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1')
/** Signature, flags and length of the header extension. */
const HEADER_BYTES = SIGNATURE.length + 8
const TRAILER_BYTES = 2
/** Postgres counts microseconds from 2000-01-01. */
const EPOCH_MS = Date.UTC(2000, 0, 1)

export interface RowWriter {
  /** Begins a row of `fields` columns. */
  row(fields: number): void
  int2(value: number): void
  int8(value: number): void
  float4(value: number): void
  float8(value: number): void
  /** `epochMs` in whole milliseconds. */
  timestamp(epochMs: number): void
  bytes(value: Buffer): void
  none(): void
  /** The finished stream; the writer may not be used after it. */
  finish(): Buffer
}

/** Writes into one buffer of `rows` × `rowBytes` bytes: give the widest row, 4 bytes of length per column included. */
export function createRowWriter(rows: number, rowBytes: number): RowWriter {
  const out = Buffer.allocUnsafe(HEADER_BYTES + rows * rowBytes + TRAILER_BYTES)
  SIGNATURE.copy(out)
  out.fill(0, SIGNATURE.length, HEADER_BYTES)
  let at = HEADER_BYTES

  function wide(value: number): void {
    at = out.writeInt32BE(8, at)
    at = out.writeInt32BE(Math.floor(value / 0x1_0000_0000), at)
    at = out.writeUInt32BE(value % 0x1_0000_0000, at)
  }

  return {
    row(fields) {
      at = out.writeInt16BE(fields, at)
    },
    int2(value) {
      at = out.writeInt32BE(2, at)
      at = out.writeInt16BE(value, at)
    },
    int8: wide,
    float4(value) {
      at = out.writeInt32BE(4, at)
      at = out.writeFloatBE(value, at)
    },
    float8(value) {
      at = out.writeInt32BE(8, at)
      at = out.writeDoubleBE(value, at)
    },
    timestamp: (epochMs) => wide((epochMs - EPOCH_MS) * 1000),
    bytes(value) {
      at = out.writeInt32BE(value.length, at)
      at += value.copy(out, at)
    },
    none() {
      at = out.writeInt32BE(-1, at)
    },
    finish() {
      at = out.writeInt16BE(-1, at)
      return out.subarray(0, at)
    }
  }
}
