import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { test } from 'tap'
import { createSecrets, SECRETS_VERSION } from '../../shared/secrets.ts'

const masterKey = () => randomBytes(32).toString('base64')
const secrets = createSecrets(masterKey())

test('what was sealed opens to the same text', (t) => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme' }),
      fc.string(),
      (plain, context) => secrets.open(secrets.seal(plain, context), context) === plain
    )
  )
  t.end()
})

test('a sealed text is unlike itself sealed again and does not hold the plain one', (t) => {
  const [one, other] = [secrets.seal('push-token', 'push_url'), secrets.seal('push-token', 'push_url')]
  t.notSame(one, other)
  t.notOk(one.includes('push-token'))
  t.equal(one[0], SECRETS_VERSION)
  t.end()
})

test('another context, another key and every changed byte are refused', (t) => {
  const sealed = secrets.seal('push-token', 'push_url')
  t.throws(() => secrets.open(sealed, 'signing_key'))
  t.throws(() => secrets.open(sealed, ''))
  t.throws(() => createSecrets(masterKey()).open(sealed, 'push_url'))
  for (let at = 0; at < sealed.length; at++) {
    const changed = Buffer.from(sealed)
    changed[at] = (changed[at] ?? 0) ^ 1
    t.throws(() => secrets.open(changed, 'push_url'), `byte ${at}`)
  }
  t.end()
})

test('a sealed text that was cut or lengthened is refused', (t) => {
  const sealed = secrets.seal('push-token', 'push_url')
  for (let length = 0; length < sealed.length; length++) {
    t.throws(() => secrets.open(sealed.subarray(0, length), 'push_url'), `${length} bytes`)
  }
  t.throws(() => secrets.open(Buffer.concat([sealed, Buffer.of(0)]), 'push_url'))
  t.end()
})

test('a digest is 32 bytes, the same for the same secret and key, and another for any other', (t) => {
  const key = masterKey()
  const digest = createSecrets(key).digest('pga_secret')
  t.equal(digest.length, 32)
  t.same(createSecrets(key).digest('pga_secret'), digest)
  t.equal(createSecrets(key).digestText('pga_secret'), digest.toString('base64'))
  t.notSame(createSecrets(key).digest('pga_secreu'), digest)
  t.notSame(createSecrets(masterKey()).digest('pga_secret'), digest)
  t.end()
})

test('what was made by the other key is opened and found, and what is made now is by the first', async (t) => {
  const [key, otherKey] = [masterKey(), masterKey()]
  const [other, both] = [createSecrets(otherKey), createSecrets(key, otherKey)]
  t.equal(both.open(other.seal('text', 'context'), 'context'), 'text')
  t.throws(() => both.open(other.seal('text', 'context'), 'another'))
  t.throws(() => other.open(both.seal('text', 'context'), 'context'))
  const digests = [createSecrets(key).digest('pga_secret'), other.digest('pga_secret')]
  t.same(both.digest('pga_secret'), digests[0])
  t.equal(both.digestText('pga_secret'), digests.map((digest) => digest.toString('base64')).join(' '))
  const stored = async (digest: Buffer) => (digest.equals(digests[1] as Buffer) ? 'row' : undefined)
  t.same(await both.find('pga_secret', stored), { row: 'row', digest: digests[1] })
  t.equal(await both.find('pga_secreu', stored), undefined)
  t.same(
    digests.map((digest) => [both.matches('pga_secret', digest), both.matches('pga_secreu', digest)]),
    [
      [true, false],
      [true, false]
    ]
  )
})

test('the same master key opens what an earlier process sealed', (t) => {
  const key = masterKey()
  t.equal(createSecrets(key).open(createSecrets(key).seal('text', 'context'), 'context'), 'text')
  t.end()
})
