import { type Queryable, sqlState } from '../db.ts'
import { AppError } from '../errors.ts'

export interface User {
  id: string
  name: string
  /** Normalized: NFKC, lower case. */
  email: string
}

/** System-wide: before sign-in no tenant is known. */
export async function findUserByEmail(
  db: Queryable,
  email: string
): Promise<(User & { password_hash: string | null }) | undefined> {
  const [row] = await db.query<User & { password_hash: string | null }>('select * from find_user_by_email($1)', [email])
  return row
}

/** Visible only inside an organization that the user belongs to: the tenant of this transaction. */
export async function findUser(db: Queryable, id: string): Promise<User | undefined> {
  const [row] = await db.query<User>('select id, name, email from users where id = $1', [id])
  return row
}

/** `passwordHash` null: the account signs in by an identity provider. @throws AppError email_in_use */
export async function insertUser(db: Queryable, user: User & { passwordHash: string | null }): Promise<void> {
  try {
    await db.query('insert into users (id, name, email, password_hash) values ($1, $2, $3, $4)', [
      user.id,
      user.name,
      user.email,
      user.passwordHash
    ])
  } catch (error) {
    if (sqlState(error) === '23505') throw new AppError('email_in_use', { cause: error })
    throw error
  }
}

/** In a transaction of the person: their ways to sign in change one after the other. */
export async function lockUser(db: Queryable, id: string): Promise<User | undefined> {
  const [row] = await db.query<User>('select id, name, email from users where id = $1 for no key update', [id])
  return row
}

/** In a transaction of the person. */
export async function renameUser(db: Queryable, id: string, name: string): Promise<void> {
  await db.query('update users set name = $2 where id = $1', [id, name])
}

/** In a transaction of the person. @throws AppError email_in_use */
export async function setEmail(db: Queryable, id: string, email: string): Promise<void> {
  try {
    await db.query('update users set email = $2 where id = $1', [id, email])
  } catch (error) {
    if (sqlState(error) === '23505') throw new AppError('email_in_use', { cause: error })
    throw error
  }
}

/** In a transaction of the person. */
export async function setPasswordHash(db: Queryable, id: string, passwordHash: string): Promise<void> {
  await db.query('update users set password_hash = $2 where id = $1', [id, passwordHash])
}

/** Returns whether the old hash was still the stored one; else nothing is changed. */
export async function replacePasswordHash(
  db: Queryable,
  id: string,
  oldHash: string,
  newHash: string
): Promise<boolean> {
  const [row] = await db.query<{ done: boolean }>('select replace_password_hash($1, $2, $3) as done', [
    id,
    oldHash,
    newHash
  ])
  return row?.done === true
}
