import { test } from 'tap'
import { AppError, toProblem } from '../../shared/errors.ts'
import { ERRORS, type ErrorCode, FIELD_TITLES } from '../../shared/protocol/errors.ts'
import { ITEM_FAULTS, type ItemFault, rejection, rejectionSchema } from '../../shared/protocol/heartbeat.ts'

const codes = Object.keys(ERRORS) as ErrorCode[]
const faults = Object.keys(ITEM_FAULTS) as ItemFault[]

test('every problem code is a word in snake case with a title and an error status', (t) => {
  for (const code of codes) {
    t.match(code, /^[a-z]+(_[a-z]+)*$/)
    t.match(ERRORS[code].title, /^[A-Z].*[^.]$/)
    t.ok(ERRORS[code].status >= 400 && ERRORS[code].status <= 599, code)
  }
  t.end()
})

test('exactly the faults that pass by themselves are temporary', (t) => {
  // A time-out, a limit by time and everything on our side; every other 4xx needs another request.
  for (const code of codes) {
    const { status, temporary } = ERRORS[code]
    t.equal(temporary, [408, 429].includes(status) || status >= 500, code)
  }
  t.end()
})

test('a problem has the type, title, status and code of its error, and its own sentence', (t) => {
  for (const code of codes) {
    const { status, title } = ERRORS[code]
    t.same(toProblem(new AppError(code)), { type: 'about:blank', title, status, code })
  }
  const problem = toProblem(new AppError('validation_failed', { detail: 'Give a name.', extra: { limit: 3 } }), 'r-1')
  t.match(problem, { code: 'validation_failed', detail: 'Give a name.', instance: 'urn:uuid:r-1', limit: 3 })
  t.end()
})

test('an unexpected error tells nothing of its inside', (t) => {
  for (const error of [new Error('password=secret'), 'secret', null, undefined, { code: 'not_found', secret: 1 }]) {
    const problem = toProblem(error)
    t.equal(problem.code, 'internal_error')
    t.notMatch(JSON.stringify(problem), /secret/)
  }
  const wrapped = toProblem(new AppError('overloaded', { cause: new Error('secret') }))
  t.notMatch(JSON.stringify(wrapped), /secret/)
  t.end()
})

test('every fault of a heartbeat has a code in snake case and a sentence that says how to fix it', (t) => {
  for (const code of faults) {
    t.match(code, /^[a-z]+(_[a-z]+)*$/)
    t.match(FIELD_TITLES[code], /^.+\.$/)
    t.ok(rejectionSchema.safeParse(rejection(0, code)).success, code)
  }
  t.same(rejection(7, 'unknown_field'), { index: 7, code: 'unknown_field', detail: ITEM_FAULTS.unknown_field })
  t.end()
})

test('the codes that clients rely on have not changed', (t) => {
  t.same([...faults].sort(), [
    'invalid_latency',
    'invalid_message',
    'invalid_status',
    'invalid_timestamp',
    'missing_field',
    'monitor_not_allowed',
    'not_an_object',
    'timestamp_in_future',
    'timestamp_too_old',
    'unknown_field'
  ])
  t.match(ERRORS, {
    unauthorized: { status: 401 },
    organization_suspended: { status: 403 },
    not_found: { status: 404 },
    email_in_use: { status: 409 },
    payload_too_large: { status: 413 },
    unsupported_media_type: { status: 415 },
    heartbeats_rejected: { status: 422 },
    rate_limited: { status: 429 },
    overloaded: { status: 503 },
    not_ready: { status: 503 }
  })
  t.end()
})
