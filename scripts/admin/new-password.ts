import { createPasswords } from '../../api/sign-in/password.ts'
import { randomBase62 } from '../../shared/identity/api-key.ts'
import { createMetrics } from '../../shared/metrics.ts'

/** Random characters of a password: 143 bits, more than any list holds. */
const LENGTH = 24

/** A password to be told once, and what is kept of it. */
export async function makePassword(): Promise<{ password: string; passwordHash: string }> {
  const password = randomBase62(LENGTH)
  const passwords = createPasswords(createMetrics())
  try {
    return { password, passwordHash: await passwords.hashNew(password) }
  } finally {
    await passwords.stop()
  }
}
