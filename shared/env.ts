import { readFileSync } from 'node:fs'
import { z } from 'zod'

/** A start that cannot go on because of its surroundings; the message is a whole sentence for the operator. */
export class StartupError extends Error {
  override name = 'StartupError'
}

export type Environment = Readonly<Record<string, string | undefined>>

/** Reads `NAME` from the file that `NAME_FILE` names, for each NAME of the schema; `NAME` itself wins. */
function withFiles(env: Environment, names: readonly string[], faults: string[]): Record<string, string> {
  const values: Record<string, string> = {}
  for (const name of names) {
    const value = env[name]
    const file = env[`${name}_FILE`]
    // An empty variable counts as absent: that is what `NAME=` in an environment file means to people.
    if (value !== undefined && value !== '') values[name] = value
    else if (file) {
      try {
        values[name] = readFileSync(file, 'utf8').trim()
      } catch (cause) {
        faults.push(`${name}_FILE: cannot read ${file} (${(cause as NodeJS.ErrnoException).code ?? 'unknown error'})`)
      }
    }
  }
  return values
}

/**
 * Reads and validates a process's whole configuration, once. Any variable may come from a file by `NAME_FILE`.
 * @throws StartupError naming every wrong variable at once, never its value (it may be a secret).
 */
export function parse<S extends z.ZodObject>(schema: S, env: Environment): z.output<S> {
  const faults: string[] = []
  const values = withFiles(env, Object.keys(schema.shape), faults)
  const result = schema.safeParse(values)
  if (!result.success) {
    for (const issue of result.error.issues) faults.push(`${issue.path.join('.')}: ${issue.message}`)
  }
  if (faults.length > 0 || !result.success) {
    throw new StartupError(`The configuration is not right. ${faults.join('; ')}.`)
  }
  return result.data
}

/** A TCP port in a variable; 0 means any free one. */
export function portVariable(standard: number): z.ZodType<number> {
  return z
    .string()
    .default(String(standard))
    .refine((text) => /^\d{1,5}$/.test(text) && Number(text) <= 65_535, 'must be a port, 0 to 65535')
    .transform(Number)
}

/** A whole number in a variable. */
export function integerVariable(standard: number, min: number, max: number): z.ZodType<number> {
  return z
    .string()
    .default(String(standard))
    .refine(
      (text) => /^\d{1,9}$/.test(text) && Number(text) >= min && Number(text) <= max,
      `must be a whole number from ${min} to ${max}`
    )
    .transform(Number)
}
