import { z } from 'zod'
import { parse } from '../shared/env.ts'
import { processSchema } from '../shared/process-config.ts'

const schema = z.object({ DATABASE_URL: processSchema.shape.DATABASE_URL })

export function readConfig(): z.output<typeof schema> {
  return parse(schema, process.env)
}
