import fc from 'fast-check'
import { test } from 'tap'
import { looksLikeApiKey, mintApiKey, partsToShow, randomBase62 } from '../../shared/identity/api-key.ts'

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

test('a key tells by its prefix whose it is and is recognised as one of ours', (t) => {
  for (let i = 0; i < 200; i++) {
    const [agent, service] = [mintApiKey('agent'), mintApiKey('service')]
    t.match(agent, /^pga_[0-9A-Za-z]{38}$/)
    t.match(service, /^pgs_[0-9A-Za-z]{38}$/)
    t.ok(looksLikeApiKey(agent) && looksLikeApiKey(service))
  }
  t.end()
})

test('a fixed key stays valid: keys already handed out must be recognised by every later version', (t) => {
  t.ok(looksLikeApiKey('pga_0123456789ABCDEFGHIJKLMNOPQRSTUV2NYLiC'), 'an agent key')
  t.end()
})

test('every change of one character is noticed, wherever it is', (t) => {
  const key = mintApiKey('agent')
  for (let at = 0; at < key.length; at++) {
    for (const to of `${BASE62}_-. \n`) {
      if (to === key[at]) continue
      const changed = key.slice(0, at) + to + key.slice(at + 1)
      if (looksLikeApiKey(changed)) t.fail(`${at} to ${to} went unnoticed`)
    }
  }
  t.end()
})

test('two neighbours that changed places, and a lost or doubled character, are noticed', (t) => {
  const key = mintApiKey('service')
  for (let at = 0; at < key.length - 1; at++) {
    const swapped = key.slice(0, at) + key[at + 1] + key[at] + key.slice(at + 2)
    if (swapped !== key) t.notOk(looksLikeApiKey(swapped))
    t.notOk(looksLikeApiKey(key.slice(0, at) + key.slice(at + 1)), 'lost')
    t.notOk(looksLikeApiKey(key.slice(0, at) + key[at] + key.slice(at)), 'doubled')
  }
  t.end()
})

test('any other text is no key', (t) => {
  fc.assert(fc.property(fc.string({ unit: 'binary', maxLength: 60 }), (text) => !looksLikeApiKey(text)))
  const key = mintApiKey('agent')
  for (const text of ['', 'pga_', `${key} `, ` ${key}`, `${key}\n`, `Bearer ${key}`, key.toUpperCase(), key + key]) {
    t.notOk(looksLikeApiKey(text), JSON.stringify(text))
  }
  t.end()
})

test('ten thousand keys do not repeat, and each place takes every character', (t) => {
  const keys = Array.from({ length: 10_000 }, () => mintApiKey('agent').slice(4, 36))
  t.equal(new Set(keys).size, keys.length)
  t.ok(32 * Math.log2(BASE62.length) > 190, 'bits of 32 characters')
  for (let at = 0; at < 32; at++) {
    const counts = new Map<string, number>()
    for (const key of keys) counts.set(key[at] ?? '', (counts.get(key[at] ?? '') ?? 0) + 1)
    // 161 of each are expected with a deviation of 12.6: these bounds are more than seven deviations away.
    t.equal(counts.size, BASE62.length)
    t.ok(Math.min(...counts.values()) > 70 && Math.max(...counts.values()) < 270, `place ${at} is even`)
  }
  t.equal(randomBase62(5).length, 5)
  t.end()
})

test('what is shown of a key later cannot be used as one', (t) => {
  const key = mintApiKey('agent')
  const { prefix, suffix } = partsToShow(key)
  t.ok(key.startsWith(prefix) && key.endsWith(suffix))
  t.equal(prefix.length + suffix.length, 12)
  t.notOk(looksLikeApiKey(prefix + suffix))
  t.end()
})
