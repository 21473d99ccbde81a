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
export type GatewayConfig = z.output<typeof schema>

/** @throws StartupError naming every wrong variable. */
export function readConfig(): GatewayConfig {
  return parse(schema, process.env)
}
