const ZERO = 48
const NINE = 57
/** `{"type":"ack","seq":` is 20 bytes; the digits follow. */
const ACK_DIGITS_AT = 20
const LETTER_A = 97
const TYPE_AT = 9
/** Where `{"ack":1}` of the bare server differs from every frame of the protocol. */
const BARE_TYPE_AT = 2

export interface ServerFrameReader {
  /** A cumulative acknowledgement. */
  onAck(seq: number): void
  /** The bare server's answer to one frame. */
  onBareAck(): void
  /** Any other text frame. */
  onText(text: string): void
  onControl(opcode: number, payload: Buffer): void
}

export interface ServerFrameScanner {
  read(bytes: Buffer, length: number): void
}

/** Bytes of header and payload of the frame at `at`, or 0 when the header is not whole. Sets nothing. */
function frameEnd(bytes: Buffer, at: number, length: number): { body: number; end: number } | null {
  if (at + 2 > length) return null
  const size = bytes[at + 1] as number
  if (size < 126) return { body: at + 2, end: at + 2 + size }
  if (size === 126) {
    if (at + 4 > length) return null
    return { body: at + 4, end: at + 4 + bytes.readUInt16BE(at + 2) }
  }
  if (at + 10 > length) return null
  return { body: at + 10, end: at + 10 + Number(bytes.readBigUInt64BE(at + 2)) }
}

function digitsAt(bytes: Buffer, from: number, end: number): number {
  let value = 0
  for (let i = from; i < end; i++) {
    const byte = bytes[i] as number
    if (byte < ZERO || byte > NINE) break
    value = value * 10 + byte - ZERO
  }
  return value
}

/** Splits what a server sent into frames, without copying them; only a frame cut by the transport is kept aside. */
export function createServerFrameScanner(reader: ServerFrameReader): ServerFrameScanner {
  let carried: Buffer | null = null

  function take(bytes: Buffer, at: number, body: number, end: number): void {
    const opcode = (bytes[at] as number) & 0x0f
    if (opcode !== 1) reader.onControl(opcode, Buffer.from(bytes.subarray(body, end)))
    else if (bytes[body + BARE_TYPE_AT] === LETTER_A) reader.onBareAck()
    else if (bytes[body + TYPE_AT] === LETTER_A) reader.onAck(digitsAt(bytes, body + ACK_DIGITS_AT, end))
    else reader.onText(bytes.toString('utf8', body, end))
  }

  /** Returns how many bytes were used up. */
  function scan(bytes: Buffer, length: number): number {
    let at = 0
    for (let frame = frameEnd(bytes, at, length); frame !== null && frame.end <= length; ) {
      take(bytes, at, frame.body, frame.end)
      at = frame.end
      frame = frameEnd(bytes, at, length)
    }
    return at
  }

  return {
    read(bytes, length) {
      const whole: Buffer = carried === null ? bytes : Buffer.concat([carried, bytes.subarray(0, length)])
      const size = carried === null ? length : whole.length
      const used = scan(whole, size)
      carried = used === size ? null : Buffer.from(whole.subarray(used, size))
    }
  }
}
