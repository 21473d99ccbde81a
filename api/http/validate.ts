import type { OutputOf, Schema, SchemaIssue } from '../../shared/contract/route.ts'
import { AppError, type FieldFault } from '../../shared/errors.ts'

function pointerTo(path: readonly PropertyKey[]): string {
  return path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  // Index access on whatever stands there; a missing step ends in undefined.
  return path.reduce<unknown>(
    (value, part) => (value as Record<PropertyKey, unknown> | null | undefined)?.[part],
    input
  )
}

function codeOf(issue: SchemaIssue, input: unknown): string {
  switch (issue.code) {
    case 'invalid_type':
    case 'invalid_union':
    case 'invalid_value':
    case 'custom':
      return valueAt(input, issue.path) === undefined ? 'missing_field' : 'invalid_value'
    case 'too_small':
      return issue.origin === 'string' || issue.origin === 'array' ? 'too_short' : 'invalid_value'
    case 'too_big':
      return issue.origin === 'string' || issue.origin === 'array' ? 'too_long' : 'invalid_value'
    default:
      return 'invalid_value'
  }
}

function faultsOf(issue: SchemaIssue, input: unknown, point: (path: readonly PropertyKey[]) => string): FieldFault[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({
      pointer: point([...issue.path, key]),
      code: 'unknown_field',
      detail: 'This field is not known; remove it.'
    }))
  }
  const code = codeOf(issue, input)
  const detail =
    code === 'missing_field' && issue.code !== 'custom'
      ? 'This field is required.'
      : `${issue.message}.`.replace(/\.\.$/, '.')
  return [{ pointer: point(issue.path), code, detail }]
}

/** Faults that a rule outside a schema found; the field is named by its pointer or `?name`. */
export function validationFailed(errors: FieldFault[]): AppError {
  return new AppError('validation_failed', { detail: 'Correct the fields that `errors` names.', errors })
}

function check<S extends Schema>(schema: S, input: unknown, point: (path: readonly PropertyKey[]) => string) {
  const result = schema.safeParse(input)
  if (result.success) return result.data
  throw validationFailed(result.error.issues.flatMap((issue) => faultsOf(issue, input, point)))
}

/** @throws AppError validation_failed with a JSON Pointer and a way out for each fault. */
export function checkBody<S extends Schema>(schema: S, input: unknown): OutputOf<S> {
  return check(schema, input, pointerTo)
}

/** @throws AppError validation_failed; each fault is named `?parameter`. */
export function checkQuery<S extends Schema>(schema: S, input: unknown): OutputOf<S> {
  return check(schema, input, (path) => `?${String(path[0] ?? '')}`)
}

/** A path that does not fit names nothing. @throws AppError not_found */
export function checkParams<S extends Schema>(schema: S, input: unknown): OutputOf<S> {
  const result = schema.safeParse(input)
  if (!result.success) throw new AppError('not_found')
  return result.data
}
