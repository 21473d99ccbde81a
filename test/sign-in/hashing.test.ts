import { readdirSync, readFileSync } from 'node:fs'
import { type Test, test } from 'tap'
import { createPasswords } from '../../api/sign-in/password.ts'
import { AppError } from '../../shared/errors.ts'
import { createMetrics } from '../../shared/metrics.ts'
import { PASSWORD } from '../support/cast.ts'

/** Field of /proc/<pid>/task/<tid>/stat after the name. */
const NICENESS = 16

function nicenessOf(task: string): number {
  const stat = readFileSync(`/proc/self/task/${task}/stat`, 'utf8')
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[NICENESS])
}

function passwordsFor(t: Test) {
  const passwords = createPasswords(createMetrics())
  t.teardown(() => passwords.stop())
  return passwords
}

test('a password is right, wrong, or of nobody', async (t) => {
  const passwords = passwordsFor(t)
  const stored = await passwords.hashNew(PASSWORD)
  t.match(stored, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  t.notOk(passwords.isOutdated(stored))
  t.same(
    await Promise.all([
      passwords.matches(PASSWORD, stored),
      passwords.matches(`${PASSWORD}!`, stored),
      passwords.matches(PASSWORD, null),
      passwords.matches('there is no such account', null)
    ]),
    [true, false, false, false]
  )
})

test('a stored hash that is none fails its own caller only', async (t) => {
  const passwords = passwordsFor(t)
  await t.rejects(passwords.matches(PASSWORD, 'no hash'))
  t.ok(await passwords.matches(PASSWORD, await passwords.hashNew(PASSWORD)))
})

test('hashing gives way to everything else', { skip: process.platform !== 'linux' && 'Linux only' }, async (t) => {
  const passwords = passwordsFor(t)
  const before = new Set(readdirSync('/proc/self/task'))
  const own = nicenessOf(String(process.pid))
  await passwords.hashNew(PASSWORD)
  const lowered = readdirSync('/proc/self/task').filter((task) => nicenessOf(task) > own)
  t.equal(lowered.length, 1, 'one thread, for one hash at a time')
  t.notOk(before.has(lowered[0] as string))
  t.equal(nicenessOf(String(process.pid)), own)
})

test('a rush is cut off, and those who wait are served', async (t) => {
  const passwords = passwordsFor(t)
  const answers = await Promise.allSettled(Array.from({ length: 1000 }, () => passwords.matches('x', null)))
  const refused = answers.filter(({ status }) => status === 'rejected') as PromiseRejectedResult[]
  t.ok(refused.length > 0 && answers.length - refused.length >= 200, `${refused.length} of 1000 are refused`)
  t.ok(refused.every(({ reason }) => reason instanceof AppError && reason.code === 'overloaded'))
})

test('a stop does not wait for hashes', async (t) => {
  const passwords = createPasswords(createMetrics())
  await passwords.hashNew(PASSWORD)
  const waiting = Array.from({ length: 100 }, () => passwords.hashNew(PASSWORD).catch((error: Error) => error.message))
  await passwords.stop()
  const outcomes = new Set(await Promise.all(waiting))
  t.same([...outcomes].sort(), ['a hashing thread ended', 'hashing has stopped'])
})
