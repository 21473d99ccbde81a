import { closeSync, fsyncSync, openSync, unlinkSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '../shared/db.ts'
import { dropHeartbeatDays } from '../shared/store/heartbeat-days.ts'
import { type Goal, within } from './goal.ts'

/** How long others read and write before a day is dropped. */
const QUIET_MS = 2000
/** PostgreSQL cuts its files at this size. */
const SEGMENT_BYTES = 2 ** 30
const PIECE = Buffer.alloc(2 ** 20, 1)

/** Milliseconds. */
export interface Dropping {
  /** Until the day has left: nobody finds its table any more, and no lock is held. */
  left: number
  /** Until its files are gone as well. */
  whole: number
  /** What the file system takes to remove files of the same size. */
  files: number
  /** The longest that a reader or a writer of other days took meanwhile, and in as long a time before it. */
  beside: number
  before: number
}

export async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await work()
  return performance.now() - began
}

/** Does it again and again until told to stop, and resolves to the longest time that it took, in milliseconds. */
async function longestOf(work: () => Promise<unknown>, goOn: () => boolean): Promise<number> {
  let longest = 0
  while (goOn()) longest = Math.max(longest, await timed(work))
  return longest
}

/** The oldest day: its table, and the sizes of its heap and index. */
async function findOldest(db: Database): Promise<{ table: string; sizes: number[] }> {
  const [row] = await db.query<{ table: string; heap: number; indexes: number }>(
    `select c.relname as table, pg_table_size(c.oid) as heap, pg_indexes_size(c.oid) as indexes
     from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = 'heartbeats'::regclass order by 1 limit 1`
  )
  if (row === undefined) throw new Error('there is no day to drop')
  return { table: row.table, sizes: [row.heap, row.indexes] }
}

async function untilGone(db: Database, table: string): Promise<void> {
  const find = () => db.query<{ found: string | null }>('select to_regclass($1)::text as found', [table])
  while ((await find())[0]?.found !== null) await sleep(1)
}

function writeFile(path: string, bytes: number): void {
  const file = openSync(path, 'w')
  for (let written = 0; written < bytes; written += PIECE.length) writeSync(file, PIECE)
  fsyncSync(file)
  closeSync(file)
}

/** Writes files as PostgreSQL would, and resolves to the time that it takes to remove them. */
function removeFilesOf(dir: string, sizes: readonly number[]): Promise<number> {
  const paths: string[] = []
  for (const size of sizes) {
    for (let left = size; left > 0; left -= SEGMENT_BYTES) {
      const path = join(dir, `as-big.${paths.length}`)
      writeFile(path, Math.min(left, SEGMENT_BYTES))
      paths.push(path)
    }
  }
  return timed(async () => paths.forEach(unlinkSync))
}

interface Scene {
  /** Epoch day of the first one. */
  day: number
  dir: string
  /** Another monitor for each run. */
  keyOf: (run: number) => number
}

/** Drops the first day while others read and write the days after it. */
export async function measureDrop(db: Database, { day, dir, keyOf }: Scene): Promise<Dropping> {
  const newest = (await db.query<{ at: Date }>('select max("timestamp") as at from heartbeats'))[0]?.at as Date
  const { table, sizes } = await findOldest(db)
  let place = 0
  const read = () =>
    db.query('select status, latency from heartbeats where monitor_key = $1 and "timestamp" >= $2', [
      keyOf(place++),
      new Date(newest.getTime() - 3_600_000)
    ])
  const write = () =>
    db.query(
      `insert into heartbeats (monitor_key, "timestamp", latency, received_at, source_id, organization_id, status)
       values (0, $1::timestamptz - $2 * interval '1 microsecond', 1, now(), gen_random_uuid(), gen_random_uuid(), 0)`,
      [newest, place++]
    )
  const whileDoing = async <T>(work: () => Promise<T>) => {
    let goOn = true
    const others = Promise.all([read, write].map((one) => longestOf(one, () => goOn)))
    const result = await work()
    goOn = false
    return { result, longest: Math.max(...(await others)) }
  }
  const { longest: before } = await whileDoing(() => sleep(QUIET_MS))
  const { result, longest: beside } = await whileDoing(() =>
    Promise.all([timed(() => untilGone(db, table)), timed(() => dropHeartbeatDays(db, day + 1))])
  )
  const [left, whole] = result
  return { left, whole, files: await removeFilesOf(dir, sizes), beside, before }
}

export function dropGoals({ left, beside, before }: Dropping): Goal[] {
  return [
    within('dropping a day of 10 million rows: until it has left history and nothing is locked any more', 100, left),
    within(
      'dropping a day of 10 million rows: the longest that a read or a write of another day takes meanwhile',
      100,
      beside,
      ` (before it ${before.toFixed(1)} ms)`
    )
  ]
}

/** Beside the goals: the disk is free only when the files are gone, which nobody waits for. */
export function dropRatio({ whole, files }: Dropping): string[] {
  return [
    'dropping a day of 10 million rows until its files are gone as well, of the time that the file system takes to remove files as big',
    `${(whole / files).toFixed(2)} (${whole.toFixed(1)} and ${files.toFixed(1)} ms)`
  ]
}
