import { z } from 'zod'
import { parse, portVariable } from '../shared/env.ts'
import { processSchema, webhookSchema } from '../shared/process-config.ts'

const schema = z.object({ ...processSchema.shape, ...webhookSchema.shape, WORKER_ADMIN_PORT: portVariable(9103) })
export type WorkerConfig = z.output<typeof schema>

/** @throws StartupError naming every wrong variable. */
export function readConfig(): WorkerConfig {
  return parse(schema, process.env)
}
