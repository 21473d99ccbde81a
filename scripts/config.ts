import { join } from 'node:path'
import { z } from 'zod'
import { type Environment, parse } from '../shared/env.ts'
import { readIfThere } from '../shared/kept-file.ts'
import { processSchema } from '../shared/process-config.ts'

const schema = z.object({ DATABASE_URL: processSchema.shape.DATABASE_URL })

export function readConfig(): z.output<typeof schema> {
  return parse(schema, process.env)
}

const { REDIS_URL, REDIS_PREFIX, QUEUE_SHARDS, DATA_DIR } = processSchema.shape
const queueSchema = z.object({ REDIS_URL, REDIS_PREFIX, QUEUE_SHARDS })

/** The address of the Redis that `npm start` embeds, as local/redis.ts leaves it in the data folder. */
function embeddedRedis(env: Environment): Environment {
  const dir = join(z.object({ DATA_DIR }).parse({ DATA_DIR: env.DATA_DIR || undefined }).DATA_DIR, 'redis')
  const [port, password] = [readIfThere(join(dir, 'port')), readIfThere(join(dir, 'password'))]
  if (port === undefined || password === undefined) return {}
  return { REDIS_URL: `redis://:${password.trim()}@127.0.0.1:${port.trim()}` }
}

/** Where the queue is: REDIS_URL, else the Redis embedded under DATA_DIR. @throws StartupError naming what is wrong. */
export function readQueueConfig(): z.output<typeof queueSchema> {
  const { env } = process
  return parse(queueSchema, env.REDIS_URL || env.REDIS_URL_FILE ? env : { ...env, ...embeddedRedis(env) })
}
