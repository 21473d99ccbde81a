import type { Test } from 'tap'
import type { Answer } from './api.ts'

/** Asserts that an answer is a problem of RFC 9457 with this code. Returns its body. */
export function expectProblem(t: Test, answer: Answer, status: number, code: string): Record<string, unknown> {
  const body = answer.body as Record<string, unknown>
  t.equal(answer.status, status, `${code}: ${JSON.stringify(body)}`)
  t.equal(answer.headers.get('content-type'), 'application/problem+json')
  t.match(body, { type: 'about:blank', title: String, status, code })
  t.equal(body.instance, `urn:uuid:${answer.headers.get('request-id')}`)
  return body
}

/** The pointers and codes of a problem's `errors`. */
export function faultsOf(body: Record<string, unknown>): string[] {
  return ((body.errors ?? []) as Array<{ pointer: string; code: string }>).map(
    (fault) => `${fault.pointer} ${fault.code}`
  )
}
