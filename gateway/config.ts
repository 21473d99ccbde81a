import { z } from 'zod'
import { integerVariable, parse, portVariable } from '../shared/env.ts'
import { addressSchema, processSchema, tlsSchema } from '../shared/process-config.ts'

const schema = z.object({
  ...processSchema.shape,
  ...addressSchema.shape,
  ...tlsSchema.shape,
  INGEST_PORT: portVariable(8444),
  GATEWAY_ADMIN_PORT: portVariable(9102),
  DRAIN_SECONDS: integerVariable(5, 0, 3600),
  RATE_LIMIT_SCALE: z.coerce.number().positive('must be a number above 0').default(1)
})
/** After the drain: closing the sockets, and what Redis and Postgres are still to be told. */
const AFTER_DRAIN_MS = 4000

export interface GatewayConfig extends z.output<typeof schema> {
  /** Longest time that stopping may take altogether. */
  stopWithinMs: number
}

/** @throws StartupError naming every wrong variable. */
export function readConfig(): GatewayConfig {
  const config = parse(schema, process.env)
  return { ...config, stopWithinMs: config.DRAIN_SECONDS * 1000 + AFTER_DRAIN_MS }
}
