/** Epoch ms of 2000-01-01, from which PostgreSQL counts timestamps (in microseconds). */
const POSTGRES_EPOCH_MS = 946_684_800_000
const TWO_TO_32 = 2 ** 32
/** Dimensions, flag of nulls, type, size and lower bound. */
const ARRAY_HEADER_BYTES = 5 * 4
/** The widest of the values that arrays are made of, a UUID, with its length. */
const ELEMENT_BYTES = 4 + 16
const OIDS = { int2: 21, int8: 20, timestamptz: 1184, uuid: 2950 } as const

/** Of a hexadecimal digit's character. */
function digit(code: number): number {
  return (code & 15) + 9 * (code >> 6)
}

/** The 16 bytes of each of these UUIDs, which have their usual form, one after the other. */
export function uuidBytes(uuids: readonly string[]): Uint8Array {
  const bytes = new Uint8Array(16 * uuids.length)
  let at = 0
  for (const uuid of uuids) {
    for (let from = 0; from < uuid.length; from += 2) {
      if (uuid[from] === '-') from++
      bytes[at++] = 16 * digit(uuid.charCodeAt(from)) + digit(uuid.charCodeAt(from + 1))
    }
  }
  return bytes
}

/**
 * Writes values as PostgreSQL's binary format has them, each behind its length: for COPY and for parameters that are arrays.
 * Written by hand because it is the hot path: one buffer, no object and no text per value.
 */
export class BinaryWriter {
  readonly #buffer: Buffer
  readonly #view: DataView
  #at = 0

  /** `bytes` bounds the size. */
  constructor(bytes: number) {
    this.#buffer = Buffer.allocUnsafe(bytes)
    this.#view = new DataView(this.#buffer.buffer, this.#buffer.byteOffset, bytes)
  }

  /** Bytes without a length. */
  raw(bytes: Buffer): void {
    this.#at += bytes.copy(this.#buffer, this.#at)
  }

  /** Without a length: a count, or the length itself. */
  word(value: number): void {
    this.#view.setInt32(this.#at, value)
    this.#at += 4
  }

  /** The same in two bytes. */
  half(value: number): void {
    this.#view.setInt16(this.#at, value)
    this.#at += 2
  }

  /** A null. */
  nothing(): void {
    this.word(-1)
  }

  int2(value: number): void {
    this.word(2)
    this.half(value)
  }

  int8(value: number): void {
    this.#view.setInt32(this.#at, 8)
    this.#view.setInt32(this.#at + 4, Math.floor(value / TWO_TO_32))
    // What is left of the number: setInt32 takes it modulo 2^32.
    this.#view.setInt32(this.#at + 8, value)
    this.#at += 12
  }

  /** `time` is in epoch ms. */
  timestamptz(time: number): void {
    this.int8((time - POSTGRES_EPOCH_MS) * 1000)
  }

  float8(value: number): void {
    this.word(8)
    this.#view.setFloat64(this.#at, value)
    this.#at += 8
  }

  /** The one at `place` of `uuidBytes`. */
  uuid(bytes: Uint8Array, place = 0): void {
    this.word(16)
    // Faster than a copy of so few.
    for (let i = 0; i < 16; i++) this.#buffer[this.#at + i] = bytes[16 * place + i] as number
    this.#at += 16
  }

  text(value: string): void {
    const length = this.#buffer.write(value, this.#at + 4, 'utf8')
    this.word(length)
    this.#at += length
  }

  finish(): Buffer {
    return this.#buffer.subarray(0, this.#at)
  }
}

/** An array as a parameter: the driver sends a Buffer as it is, so the server has no text to parse. */
function arrayOf(oid: number, length: number, write: (writer: BinaryWriter, place: number) => void): Buffer {
  const writer = new BinaryWriter(ARRAY_HEADER_BYTES + length * ELEMENT_BYTES)
  for (const word of [1, 0, oid, length, 1]) writer.word(word)
  for (let place = 0; place < length; place++) write(writer, place)
  return writer.finish()
}

export function int2Array(values: ArrayLike<number>): Buffer {
  return arrayOf(OIDS.int2, values.length, (writer, place) => writer.int2(values[place] as number))
}

export function int8Array(values: ArrayLike<number>): Buffer {
  return arrayOf(OIDS.int8, values.length, (writer, place) => writer.int8(values[place] as number))
}

/** Of epoch ms. */
export function timestamptzArray(times: ArrayLike<number>): Buffer {
  return arrayOf(OIDS.timestamptz, times.length, (writer, place) => writer.timestamptz(times[place] as number))
}

/** Of `uuidBytes`. */
export function uuidArray(bytes: Uint8Array): Buffer {
  return arrayOf(OIDS.uuid, bytes.length / 16, (writer, place) => writer.uuid(bytes, place))
}
